-- How many ways there are to place ten queens, by trying columns row after row; the queens placed so far are a list.
local size = 10
local function safe(column, distance, placed)
  while placed do
    local other = placed[1]
    if other == column or other == column + distance or other == column - distance then return false end
    distance, placed = distance + 1, placed[2]
  end
  return true
end
local function ways(row, placed)
  if row == size then return 1 end
  local count = 0
  for column = 0, size - 1 do
    if safe(column, 1, placed) then count = count + ways(row + 1, {column, placed}) end
  end
  return count
end
print(ways(0, nil))
