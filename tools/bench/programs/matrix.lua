-- Products of matrices as lists of rows, the second transposed first: higher-order functions of our own over lists of floats.
local function mapped(f, list)
  if list == nil then return nil end
  return {f(list[1]), (mapped(f, list[2]))}
end
local function dot(a, b)
  local sum = 0.0
  while a do
    sum = sum + a[1] * b[1]
    a, b = a[2], b[2]
  end
  return sum
end
local function first(list) return list[1] end
local function rest(list) return list[2] end
-- The end of a list is nil here, and a cell cannot hold nil, so a list of ends is a list of cells whose first is missing.
local function transposed(rows)
  if rows[1] == nil then return nil end
  return {mapped(first, rows), (transposed(mapped(rest, rows)))}
end
local function times(a, b)
  local columns = transposed(b)
  return mapped(function(row) return mapped(function(column) return dot(row, column) end, columns) end, a)
end
local function tabulated(n, f)
  local result = nil
  for i = n - 1, 0, -1 do result = {f(i), result} end
  return result
end
local n = 90
local start = tabulated(n, function(i) return tabulated(n, function(j) return 1.0 / (i + j + 1) end) end)
local m = start
for k = 1, 8 do m = times(m, start) end
local sum, i = 0.0, 0
while m do
  local row = m[1]
  for j = 1, i do row = row[2] end
  sum, m, i = sum + row[1], m[2], i + 1
end
print(string.format("%.15g", sum))
