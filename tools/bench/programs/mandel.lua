-- How many of the iterates z <- z^2 + c stay in the disk of radius 2, summed over a grid: loops of floating-point arithmetic.
local size, most = 420, 120
local function stays(a, b)
  local re, im, left = a, b, most
  while true do
    local re2, im2 = re * re, im * im
    if left == 0 or 4.0 < re2 + im2 then return most - left end
    re, im, left = a + (re2 - im2), b + 2.0 * (re * im), left - 1
  end
end
local function line(b)
  local a, sum = -2.1, 0
  for i = 1, size do
    sum = sum + stays(a, b)
    a = a + 0.0068
  end
  return sum
end
local b, sum = -1.4, 0
for j = 1, size do
  sum = sum + line(b)
  b = b + 0.0067
end
print(sum)
