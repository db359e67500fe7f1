-- Takeuchi's function in its original form (it returns y): four calls for each that recurs, one of them a tail call.
local function tarai(x, y, z)
  if y < x then
    return tarai(tarai(x - 1, y, z), tarai(y - 1, z, x), tarai(z - 1, x, y))
  end
  return y
end
print(tarai(12, 6, 0))
