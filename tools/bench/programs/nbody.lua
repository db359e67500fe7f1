-- Bodies under gravity in the plane, without mutation: a body is a table {x, y, u, v, mass}, each step makes a new list of bodies.
local step = 0.001
local sqrt = math.sqrt
local function list(...)
  local items, tail = {...}, nil
  for i = #items, 1, -1 do tail = {items[i], tail} end
  return tail
end
local bodies = list({0.0, 0.0, 0.0, 0.0, 40.0}, {5.0, 0.0, 0.0, 2.8, 0.04}, {0.0, 9.0, -2.1, 0.0, 0.02},
                    {-14.0, 1.0, -0.1, -1.7, 0.003}, {2.0, -20.0, 1.4, 0.1, 0.002})
local function accelerated(body, others)
  local x, y, u, v = body[1], body[2], body[3], body[4]
  while others do
    local other = others[1]
    local dx, dy = other[1] - x, other[2] - y
    local square = dx * dx + dy * dy
    if square ~= 0.0 then
      local pull = step * other[5] / (square * sqrt(square))
      u, v = u + pull * dx, v + pull * dy
    end
    others = others[2]
  end
  return {x + step * u, y + step * v, u, v, body[5]}
end
local function moved(some, all)
  if some == nil then return nil end
  return {accelerated(some[1], all), (moved(some[2], all))}
end
for i = 1, 60000 do bodies = moved(bodies, bodies) end
local sum = 0.0
while bodies do
  local body = bodies[1]
  sum = sum + 0.5 * (body[5] * (body[3] * body[3] + body[4] * body[4]))
  bodies = bodies[2]
end
print(string.format("%.15g", sum))
