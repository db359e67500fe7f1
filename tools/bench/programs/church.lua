-- Numbers as iterators: arithmetic and powers of closures, counted out at the end.
local function zero(f) return function(x) return x end end
local function successor(n)
  return function(f)
    local rest = n(f)
    return function(x) return f(rest(x)) end
  end
end
local function sum(m, n)
  return function(f)
    local left, right = m(f), n(f)
    return function(x) return left(right(x)) end
  end
end
local function product(m, n) return function(f) return m(n(f)) end end
local function power(m, n) return n(m) end
local function number(n)
  if n == 0 then return zero end
  return successor(number(n - 1))
end
local function count(n) return n(function(x) return x + 1 end)(0) end
local two, seven = number(2), number(7)
local many = product(number(100), product(number(100), number(200)))
print(count(power(seven, seven)) + count(power(two, sum(seven, sum(seven, two)))) + count(many))
