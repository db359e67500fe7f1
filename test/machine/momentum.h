// A training for tests of devices.
#pragma once

namespace machine_testing {

// Weights that leave the device between their uses, momenta and Adam's moments beside them, dropout, rules beside the sweep.
inline constexpr const char* kMomentum = R"(
(define (net w x) (if (null? w) (mean (* x x)) (net (cdr w) (dropout (tanh (matmul x (car w))) 0.1))))
(define x (randn '(8 32)))
(define (momentum p g v) (let ((v (+ (* 0.9 v) g))) (cons (- p (* 0.1 v)) v)))
(define (train n w v)
  (if (= n 0)
      (map (lambda (t) (tensor->number (sum t))) w)
      (let ((r (checkpoint-*j-update! (lambda (w) (net w x)) w 1.0 momentum v))) (train (- n 1) (cadr r) (caddr r)))))
(write (train 4 (map (lambda (i) (* 0.2 (randn '(32 32)))) (iota 8)) (map (lambda (i) (zeros '(32 32))) (iota 8)))))";

} // namespace machine_testing
