-- Doubly recursive Fibonacci numbers: calls, returns, comparison and addition of small integers.
local function fibonacci(n)
  if n < 2 then return n end
  return fibonacci(n - 2) + fibonacci(n - 1)
end
print(fibonacci(33))
