-- Lists built, reversed, mapped, filtered and folded by loops over a million elements: cells and calls of closures.
local function reversed(list)
  local result = nil
  while list do result, list = {list[1], result}, list[2] end
  return result
end
local function counted(from, to)
  local result = nil
  for i = to, from, -1 do result = {i, result} end
  return result
end
local function mapped(f, list)
  local result = nil
  while list do result, list = {f(list[1]), result}, list[2] end
  return reversed(result)
end
local function kept(good, list)
  local result = nil
  while list do
    if good(list[1]) then result = {list[1], result} end
    list = list[2]
  end
  return reversed(result)
end
local function reduced(f, start, list)
  local result = start
  while list do result, list = f(result, list[1]), list[2] end
  return result
end
local function round(shift)
  local numbers = counted(1, 1000000)
  local shifted = mapped(function(x) return 5 * x + shift end, numbers)
  local some = kept(function(x) return x % 11 < 6 end, shifted)
  return reduced(function(sum, x) return x - sum end, 0, some)
end
local sum = 0
for i = 3, 1, -1 do sum = sum + round(i) end
print(string.format("%.0f", sum))
