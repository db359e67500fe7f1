-- Primes by sieving a list: each prime strikes its multiples from the rest.
local function numbers(from, to)
  if to < from then return nil end
  return {from, (numbers(from + 1, to))}
end
local function struck(prime, list)
  if list == nil then return nil end
  if list[1] % prime == 0 then return struck(prime, list[2]) end
  return {list[1], (struck(prime, list[2]))}
end
local function sieve(list)
  local count, last = 0, 0
  while list do
    count, last = count + 1, list[1]
    list = struck(list[1], list[2])
  end
  return 1000000 * count + last
end
local sum = 0
for i = 6, 1, -1 do sum = sum + sieve(numbers(2, 6000 + i)) end
print(string.format("%.0f", sum))
