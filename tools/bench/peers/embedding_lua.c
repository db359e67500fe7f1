/* The same call in Lua: a function of one number, called from C with a number. Argument: calls. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  long count = atol(argv[1]);
  lua_State* lua = luaL_newstate();
  if (luaL_dostring(lua, "function next_one(x) return x + 1 end") != LUA_OK) return 1;
  lua_Integer v = 0;
  double start = seconds();
  lua_getglobal(lua, "next_one");
  for (long i = 0; i < count; ++i) {
    lua_pushvalue(lua, -1);
    lua_pushinteger(lua, v);
    if (lua_pcall(lua, 1, 1, 0) != LUA_OK) return 1;
    v = lua_tointeger(lua, -1);
    lua_pop(lua, 1);
  }
  double took = seconds() - start;
  if (v != count) return 1;
  printf("call_ns %.1f\n", took / (double)count * 1e9);
  lua_close(lua);
  return 0;
}
