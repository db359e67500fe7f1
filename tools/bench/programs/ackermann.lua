-- Ackermann's function: deep recursion by small steps, tail calls between.
local function ackermann(m, n)
  if m == 0 then return n + 1 end
  if n == 0 then return ackermann(m - 1, 1) end
  return ackermann(m - 1, ackermann(m, n - 1))
end
local sum = 0
for i = 20, 1, -1 do sum = sum + ackermann(2, 300 + i) end
print(ackermann(3, 8) + sum)
