-- Recursion a million frames deep that builds, maps and sums a list on the way back: what a machine with a bounded stack cannot run.
local function from_to(i, n)
  if i == n then return nil end
  return {i, (from_to(i + 1, n))}
end
local function doubled(list)
  if list == nil then return nil end
  return {list[1] + list[1], (doubled(list[2]))}
end
local function total(list)
  if list == nil then return 0 end
  return list[1] + total(list[2])
end
local sum = 0
for n = 3, 1, -1 do sum = sum + total(doubled(from_to(n, 1000000))) end
print(string.format("%.0f", sum))
