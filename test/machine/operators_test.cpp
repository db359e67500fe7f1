// Every operator of docs/operators.md as programs meet it: its name is bound, and where it has derivatives, a derivative of a
// derivative of it can be saved to a file in the middle and goes on from there. What a tape keeps of an operation that a forward
// rule made must be as well formed as what a program asked for, or it cannot be read back.
#include "embedding.h"

#include <fstream>
#include <map>
#include <set>
#include <vector>

using namespace machine_testing;

namespace {

struct Row {
  std::string name;
  bool differentiable;
};

// The table of the page: | `name` | operands | result | derivative | kept |
std::vector<Row> rows_of_page() {
  std::ifstream page(CAIRN_TEST_DATA "/../../docs/operators.md");
  std::vector<Row> rows;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    const bool none = line.find("| none |") != std::string::npos;
    rows.push_back({line.substr(3, line.find('`', 3) - 3), !none});
  }
  REQUIRE(rows.size() > 80);
  return rows;
}

// An expression of x, a tensor of f64 of this shape with numbers between .2 and .9, in which the operator stands.
struct Use {
  std::string name, shape, expression;
};

std::vector<Use> uses() {
  std::vector<Use> all;
  const auto add = [&](const std::string& name, const std::string& shape, const std::string& expression) {
    all.push_back({name, shape, expression});
  };
  for (const char* f : {"-",
                        "abs",
                        "sqrt",
                        "exp",
                        "log",
                        "sin",
                        "cos",
                        "tan",
                        "asin",
                        "acos",
                        "atan",
                        "tanh",
                        "sigmoid",
                        "ReLU",
                        "LeakyReLU",
                        "GeLU",
                        "SiLU",
                        "softplus",
                        "square",
                        "erf",
                        "sinh",
                        "cosh",
                        "asinh",
                        "atanh",
                        "log1p",
                        "expm1",
                        "floor",
                        "ceiling",
                        "truncate",
                        "round",
                        "sign",
                        "GeLU-tanh",
                        "ELU",
                        "sum",
                        "mean",
                        "max-over",
                        "min-over",
                        "prod",
                        "norm",
                        "logsumexp",
                        "variance",
                        "softmax",
                        "log-softmax",
                        "sort",
                        "contiguous",
                        "lower-triangle",
                        "upper-triangle"})
    add(f, "2 3", std::string("(* x (") + f + " (* x x)))");
  add("acosh", "2 3", "(acosh (+ 1.2 (* x x)))");
  for (const char* f : {"+", "-", "*", "/", "max", "min", "expt", "atan"})
    add(f, "2 3", std::string("(") + f + " (* x x) (sum x 0))");
  for (const char* f : {"sum", "mean", "max-over", "min-over", "prod", "norm", "logsumexp", "variance"})
    add(f, "2 3 2", std::string("(* x (") + f + " (* x x) '(0 -1) #t))");
  for (const char* f : {"softmax", "log-softmax", "sort"}) add(f, "3 2", std::string("(* x (") + f + " (* x x) 0))");
  add("weighted-sum", "2 3", "(weighted-sum (* x x) (sum x 0) (sumall x) .4)");
  add("weighted-square-sum", "2 3", "(weighted-square-sum (* x x) (exp x) .7 (sumall x))");
  add("adam-step", "2 3", "(adam-step (* x x) (sin x) (+ .1 (* x x)) .9 (sumall x) (+ 1.5 (sumall x)))");
  for (const char* part : {"car", "cadr", "caddr"})
    add("adam-update", "2 3",
        std::string("(") + part +
            " (adam-update (* x x) (sin x) (+ .1 (* x x)) (exp x) .9 (sumall x) .5 (+ 1.5 (sumall x)) .9 (sumall x) (+ 1.5 "
            "(sumall x))))");
  add("norm", "2 3", "(norm (* x x) 0 #f 3)");
  add("variance", "2 3", "(variance (* x x) 1 #f 1)");
  add("where", "2 3", "(where (< x .5) (* x x) (exp x))");
  add("cast", "2 3", "(* x (cast (* x x) 'f32))");
  add("to-device", "2 3", "(* x (to-device (* x x) 'cpu))");
  add("view", "2 3", "(view (* x x) '(3 -1))");
  add("transpose", "2 3", "(matmul (* x x) (transpose x))");
  add("permute", "2 3", "(* (permute x '(1 0)) (permute (* x x) '(1 0)))");
  add("narrow-tensor", "2 3", "(* (narrow-tensor x 1 0 2) (narrow-tensor (* x x) 1 1 2))");
  add("expand-tensor", "2 1", "(expand-tensor (* x x) '(3 2 4))");
  add("concat-tensors", "2 3", "(concat-tensors (list x (* x x) (exp x)) 1)");
  add("stack", "2 3", "(stack (list x (* x x)) 0)");
  add("pad", "2 3", "(pad (* x x) '(1 0) '(0 2) 3.)");
  add("matmul", "3 3", "(matmul x (* x x))");
  add("embedding", "4 3", "(embedding (* x x) (list->tensor '((0 1) (3 3)) 'i64))");
  add("gather", "2 3", "(gather (* x x) (list->tensor '((0 2) (1 1)) 'i64) 1)");
  add("scatter-add", "2 3",
      "(scatter-add x (list->tensor '((0 2 2)) 'i64) (* (narrow-tensor x 0 0 1) (narrow-tensor x 0 1 1)) 1)");
  add("cross-entropy-loss", "3 4", "(* x (cross-entropy-loss (* x x) (list->tensor '(1 0 3) 'i64)))");
  for (const char* f : {"mean-squared-error", "binary-cross-entropy", "binary-cross-entropy-with-logits"})
    add(f, "2 3", std::string("(* x (") + f + " (* x x) (sin x)))");
  add("fused-scale-mask-softmax", "2 3", "(* x (fused-scale-mask-softmax (* x x) (list->tensor '((0 1 0) (0 0 0)) 'u8) .7))");
  add("dropout", "2 3", "(* x (dropout (* x x) .4))");
  add("dropout-planewise", "2 3 2", "(* x (dropout-planewise (* x x) .4))");
  add("chunk", "4 2", "(* (chunk x 0 2 0) (chunk (* x x) 0 2 1))");
  add("slice", "5 2", "(* (slice x 0 0 5 2) (slice (* x x) 0 0 5 2))");
  add("crop", "4 3", "(crop (* x x) '(1 0) '(2 2))");
  add("tile", "2 3", "(tile (* x x) '(2 1))");
  add("flip", "2 3", "(* x (flip (* x x) '(0 -1)))");
  add("roll", "2 3", "(* x (roll (* x x) '(1 -1) '(0 1)))");
  add("lower-triangle", "3 3", "(* x (lower-triangle (* x x) -1))");
  add("upper-triangle", "3 3", "(* x (upper-triangle (* x x) 1))");
  add("cumulative-sum", "2 3", "(* x (cumulative-sum (* x x) 1))");
  add("top-k", "2 3", "(car (top-k (* x x) 2))");
  const std::string square = "(+ (* x (transpose x)) (list->tensor '((3 0 0) (0 4 0) (0 0 5)) 'f64))";
  add("cholesky", "3 3", "(* x (cholesky " + square + "))");
  add("triangular-solve", "3 3", "(triangular-solve " + square + " (* x x))");
  add("triangular-solve", "3 3", "(triangular-solve " + square + " (* x x) #f)");
  add("solve", "3 3", "(solve " + square + " (* x x))");
  add("determinant", "3 3", "(* x (determinant " + square + "))");
  add("convolve", "1 2 4 4", "(convolve x (* 2 (narrow-tensor (narrow-tensor x 2 0 2) 3 0 2)) 2 1)");
  add("convolve-add-tied", "2 2 4", "(convolve-add-tied x (* 2 (narrow-tensor x 2 0 3)) (view (sum x '(0 2)) '(2)) 1 '(1))");
  add("transpose-convolve", "2 2 3", "(transpose-convolve x (* 2 (narrow-tensor x 2 0 2)) 2 0 1 1 1)");
  add("max-pool", "1 2 4 4", "(max-pool (* x x) 2 2 1)");
  add("average-pool", "1 2 4 4", "(* 2 (average-pool (* x x) '(3 2) 2 1 #f))");
  add("adaptive-average-pool", "1 2 5", "(adaptive-average-pool (* x x) 3)");
  add("adaptive-max-pool", "1 2 5", "(adaptive-max-pool (* x x) 3)");
  add("interpolate-nearest", "1 2 3", "(interpolate-nearest (* x x) 5)");
  add("interpolate-linear", "1 2 3", "(interpolate-linear (* x x) 5 #t)");
  const std::string both = " (view (mean x '(0 2)) '(2)) (view (sum x '(0 2)) '(2))";
  add("batch-normalization-training", "2 2 3", "(car (batch-normalization-training (* x x)" + both + " .1))");
  add("batch-normalization-test", "2 2 3",
      "(batch-normalization-test (* x x)" + both + " (fill '(2) .1 'f64) (fill '(2) .6 'f64) .1)");
  add("group-normalization", "2 2 3", "(group-normalization (* x x)" + both + " 2 .1)");
  add("layer-normalization", "2 3", "(layer-normalization (* x x) (sum x 0) (mean x 0) .1)");
  add("rms-normalization", "2 3", "(rms-normalization (* x x) (sum x 0) .1)");
  const std::string attention =
      "(list (list (fill '(2 6) .1 'f64) (fill '(6) .2 'f64)) (list (fill '(2 2) .3 'f64) (fill '(2) .1 'f64)))";
  add("attention-step", "1 2 2",
      "(let* ((p " + attention + ") (a (attention-step 1 p x '()))) (car (attention-step 1 p (* x (car a)) (cadr a))))");
  add("slices", "3 2", "(+ (narrow-tensor (* x x) 0 0 2) (narrow-tensor (sin x) 0 1 2) (index (exp x) 1) (index x '(0 2)))");
  add("with-part", "2 3", "(with-part (* x x) (sin (narrow-tensor x 1 0 2)) '(0 1))");
  add("add-part", "2 3", "(add-part (* x x) (sin (narrow-tensor x 0 0 1)) '(1 0))");
  add("attend", "2 3 2", "(attend (* x x) (sin x) x .7)");
  add("attend", "3 2", "(attend (sin x) (* x x) (narrow-tensor x 1 0 1) .7 #t)");
  return all;
}

// The gradient of a gradient penalty: reverse mode over reverse mode, for which the inner function runs in forward mode under a
// tape.
std::string penalty(const Use& use) {
  return "(import network)\n(define x (+ .2 (* .7 (rand '(" + use.shape + ") 'f64))))\n(define (f x) " + use.expression +
         ")\n(define (g x) (sumall (square (f x))))\n(define (h x) (sumall (square (cdr (*j g x 1)))))\n(write (tensor->list "
         "(cdr (*j h x 1))))\n";
}

// Runs a program in which the tape is saved after every so many steps, by a file to another machine each time.
void saved_at(const Use& use, std::uint64_t every) {
  CAPTURE(use.name);
  CAPTURE(use.expression);
  const Program program(penalty(use));
  Machine whole(program);
  const cairn_status status = whole.run();
  REQUIRE_MESSAGE(status == CAIRN_OK, whole.error());
  CHECK(whole.output.find("nan") == std::string::npos);
  const std::uint64_t total = whole.steps(), stride = every != 0 ? every : std::max<std::uint64_t>(1, total / 11);
  Machine going(program);
  for (std::uint64_t n = stride; n < total; n += stride) {
    CAPTURE(n);
    REQUIRE(going.run(stride) == CAIRN_OUT_OF_STEPS);
    Machine resumed;
    going.move_to(resumed);
    REQUIRE(resumed.run() == CAIRN_OK);
    REQUIRE(resumed.output == whole.output);
  }
}

} // namespace

TEST_CASE("every name on the page of operators is bound") {
  std::string text;
  for (const Row& row : rows_of_page()) text += "(if (not (procedure? " + row.name + ")) (error \"no procedure\"))\n";
  Machine machine{Program(text)};
  CHECK(machine.run() == CAIRN_OK);
}

TEST_CASE("a derivative of a derivative of every operator goes on from a file in its middle") {
  std::set<std::string> used;
  for (const Use& use : uses()) {
    saved_at(use, 0);
    used.insert(use.name);
  }
  for (const Row& row : rows_of_page()) {
    CAPTURE(row.name);
    CHECK((!row.differentiable || used.contains(row.name)));
  }
}

TEST_CASE("gradient penalties over softmax and its kin go on from a file at every step") {
  const std::set<std::string> kin = {"softmax", "log-softmax", "cross-entropy-loss", "fused-scale-mask-softmax", "attend"};
  for (const Use& use : uses())
    if (kin.contains(use.name)) saved_at(use, 1);
}
