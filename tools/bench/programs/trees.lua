-- Binary trees built, mirrored with changed leaves, and folded: two-way recursion over cells.
local fmod = math.fmod
local function grown(depth, label)
  if depth == 0 then return label end
  return {grown(depth - 1, label + label), (grown(depth - 1, label + (label + 1)))}
end
local function mirrored(tree)
  if type(tree) == "table" then return {mirrored(tree[2]), (mirrored(tree[1]))} end
  return tree - 3
end
local function folded(tree)
  if type(tree) == "table" then return folded(tree[1]) - folded(tree[2]) end
  return fmod(tree, 1009)
end
local sum = 0
for i = 12, 1, -1 do sum = sum + folded(mirrored(mirrored(grown(15, i)))) end
print(string.format("%.0f", sum))
