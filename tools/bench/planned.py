"""Gradients under budgets beside what their reports predict, and beside each other."""
import measuring
from measuring import Failure, mebibytes, show

# The bars, as parts of what was predicted; of a peak, either will do. Replay must be as predicted, by a plan or by the schedule at hand.
PEAK, PEAK_BYTES, TIME, RISE = 0.02, 1 << 20, 0.15, 0.03


def off(measured, predicted):
    return measured / predicted - 1


def percent(part):
    return "" if part is None else f"{100 * part:+.1f}"


def decimal(number):
    return f"{number:.3f}" if number else ""


def stated(amiss, otherwise):
    return "\n".join([f"Amiss, {len(amiss)} times:\n", *(f"- {what}" for what in amiss)]) if amiss else otherwise


class Compared:
    """One run under a budget: each difference from what its report predicts, and what of it does not meet a bar. `seconds` are those of the gradient
    alone, here and on one tape, or None. What it takes to make the plan is told as a part of them, and left out where they are compared with what the
    plan says: it is in no prediction, and calls that come again do without."""

    def __init__(self, network, memory, result, seconds):
        report, tape = result.report, network.tape
        self.peak, self.replay, self.predicted_cost = report["peak"], report["replay"], report["time_of_one_tape"]
        fresh = report["fresh_seconds"] or {"predicted": 0, "of_one_tape": 0}
        whole = report["seconds_of_one_tape"] or 0
        self.predicted_time = (self.predicted_cost * whole + fresh["predicted"]) / (whole + fresh["of_one_tape"]) if whole else None
        self.cost = report["time"] / tape.report["time"]
        self.work = result.stats["work"] / tape.stats["work"] if tape.stats["work"] else 1
        if "it began again" in report["explanation"]:  # the report's cost is that of the last beginning alone
            self.cost, self.predicted_cost = max(self.cost, self.work), None
        timed = seconds and min(seconds) > measuring.NOISE
        self.planning = report["planning_seconds"] / seconds[1] if timed else None
        self.first_call = seconds[0] / seconds[1] if timed else None
        self.time = self.first_call - self.planning if timed else None
        command = network.command(memory)
        self.above = [f"{command}: the peak {self.peak['measured']} is above the budget"] if self.peak["measured"] > memory else []
        self.amiss = list(self.above)
        planned = self.peak["predicted"]
        self.off = {
            "peak": off(self.peak["measured"], planned) if planned else None,
            "replay": off(self.replay["measured"], self.replay["predicted"]) if self.replay["predicted"] else None,
            "cost": off(self.cost, self.predicted_cost) if self.predicted_cost else None,
            "time": off(self.time, self.predicted_time) if self.time and self.predicted_time else None,
        }
        if planned and abs(self.peak["measured"] - planned) > max(PEAK_BYTES, PEAK * planned):
            self.amiss.append(f"{command}: peak {self.peak['measured']}, predicted {planned}")
        if self.replay["predicted"] is not None and self.replay["measured"] != self.replay["predicted"]:
            self.amiss.append(f"{command}: replay {self.replay['measured']:.4f}, predicted {self.replay['predicted']:.4f}")
        if abs(self.off["time"] or 0) > TIME:
            self.amiss.append(f"{command}: {self.time:.2f} times the time of one tape, predicted {self.predicted_time:.2f}")

    HEAD = ["peak MiB", "predicted", "off %", "replay", "predicted", "work / tape's", "cost / tape's", "predicted", "off %", "planning / tape's",
            "time / tape's", "predicted", "off %"]

    def row(self):
        planned = self.peak["predicted"]
        return [mebibytes(self.peak["measured"]), mebibytes(planned) if planned else "", percent(self.off["peak"]), decimal(self.replay["measured"]),
                decimal(self.replay["predicted"]), decimal(self.work), decimal(self.cost), decimal(self.predicted_cost), percent(self.off["cost"]),
                decimal(self.planning), decimal(self.time), decimal(self.predicted_time), percent(self.off["time"])]


def busy(result):
    """With the seconds of getting pages, which a long tape has more of."""
    return measuring.must(result).seconds + result.system


def budgets(options):
    """What reports predict beside what was measured."""
    found = sum(predictions(options, network) for network in options.made)
    if found:
        raise Failure(f"amiss, {found} times")


def predictions(options, network):
    amiss = []
    memories = network.budgets(8)
    results = {memory: network.planned(memory) for memory in memories}
    jobs = {"start": network.start, "tape": network.run_with_all}
    jobs.update({memory: network.job("auto", memory) for memory in memories if not isinstance(results[memory], Failure)})
    timed = {} if options.quick else measuring.rounds(jobs, options.repeat, twice=True)
    rows, all_compared = [], []
    for memory, result in results.items():
        if isinstance(result, Failure):
            amiss.append(f"{network.command(memory)}: {result}, and {network.least} do")
            rows.append([mebibytes(memory), str(result)] + [""] * (len(Compared.HEAD) - 1))
            continue
        seconds = [busy(timed[name]) - busy(timed["start"]) for name in (memory, "tape")] if timed else None
        compared = Compared(network, memory, result, seconds)
        amiss += compared.amiss
        all_compared.append(compared)
        rows.append([mebibytes(memory), *compared.row()])
    differences = {name: [c.off[name] for c in all_compared if c.off[name] is not None] for name in ("peak", "replay", "cost", "time")}
    differences = ", ".join(f"{name} {percent(max(parts, key=abs))} %" for name, parts in differences.items() if parts)
    amiss += network.misnamed
    if network.least > network.whole():
        amiss.append(f"{network.command(network.least)} is the least that works, and one tape takes {network.whole()}")
    show(f"{network}: {mebibytes(network.whole())} MiB on one tape, {mebibytes(network.least)} MiB the least that works",
         ["budget MiB", *Compared.HEAD], rows,
         f"The largest differences from what was predicted: {differences}." if differences else "Nothing was predicted.",
         stated(amiss, "All bars are met."))
    return len(amiss)


# Work of a first call within half of what one tape takes, and within half of what it takes beside parameters, as a part of that tape's: what has been
# reached. None: parameters and their cotangents alone take more.
HALF = {
    "gpt": (1.11, 1.05),
    "resnet": (None, 1.06),
    "resnet101": (None, 1.06),
    "resnet152": (None, 1.04),
    "densenet": (1.09, 1.09),
    "inception": (1.16, 1.16),
    "lstm": (1.17, 1.14),
    "tree": (1.17, 1.17),
    "descent": (1.17, 1.18),
    "flow": (1.27, 1.27),
    "rollout": (1.01, 1.01),
    "branches": (1.01, 1.01),
    "determinant": (1.01, 1.01),
}
MOST_TIME = 1.1  # the bar


def half(options):
    """Half of the memory of one tape costs little. Work is exact; of times, medians are told where there are several rounds."""
    rows, above, slow = [], [], []
    for network in options.made:
        memories = {"all": network.whole() // 2, "beside parameters": (network.whole() + network.unavoidable) // 2}
        results = {what: network.planned(memory) for what, memory in memories.items()}
        jobs = {"start": network.start, "tape": network.run_with_all}
        jobs.update({what: network.job("auto", memory) for what, memory in memories.items() if not isinstance(results[what], Failure)})
        timed = measuring.rounds(jobs, options.repeat, twice=True) if options.times else {}
        for most, (what, result) in zip(HALF[network.name], results.items()):
            row = [str(network), mebibytes(network.whole()), what, mebibytes(memories[what])]
            if isinstance(result, Failure):
                rows.append([*row, str(result), "", "", ""])
                if most and not options.quick:
                    above.append(f"{network.command(memories[what])}: {result}")
                continue
            seconds = [busy(timed[name]) - busy(timed["start"]) for name in (what, "tape")] if timed else None
            compared = Compared(network, memories[what], result, seconds)
            rows.append([*row, mebibytes(compared.peak["measured"]), decimal(compared.work), decimal(compared.cost), decimal(compared.first_call)])
            above += compared.above
            if most and compared.work > most and not options.quick:
                above.append(f"{network}: {compared.work:.3f} times the work of one tape within half of its memory ({what}), where it was {most}")
            if (compared.first_call or 0) > MOST_TIME:
                slow.append(f"{network} takes {compared.first_call:.2f} times as long as on one tape within half of its memory ({what})")
    show("First calls within half of the memory of one tape, or of what it takes beside parameters, their cotangents, and data",
         ["gradient", "one tape MiB", "half of", "budget MiB", "peak MiB", "work / tape's", "cost / tape's", "time / tape's"],
         rows, stated(above, "All do as little as they did."), stated(slow, f"None takes more than {MOST_TIME} times as long.") if options.times else "")
    if above or (slow and not options.quick):
        raise Failure("; ".join(above + slow))


def monotone(options):
    """More memory never costs more: first calls hardly, and plans of one profile not at all."""
    found, rows = [], []
    for network in options.made:
        row, amiss = rises(options, network)
        rows.append(row)
        found += amiss
    show("More memory costs no more", ["gradient", "least MiB", "one tape MiB", "first calls: largest rise of cost %", "of predicted cost %", "amiss"], rows,
         stated(found, "No violations."), "Each budget has a first call of its own, which cuts its run anew. That plans of one profile never cost more "
         "with more memory is what the test `schedule` has.")
    if found:
        raise Failure(f"{len(found)} violations")


def rises(options, network):
    amiss, lowest, worst = [], {}, {"measured": 0, "predicted": 0}  # of costs so far: the lowest and its budget, and the largest rise above it
    for memory in network.budgets(8 if options.quick else 32):
        result = network.planned(memory)
        if isinstance(result, Failure):
            amiss.append(f"{network.command(memory)}: {result}, and {network.least} do")
            continue
        compared = Compared(network, memory, result, None)
        amiss += compared.above
        for name, cost in (("measured", compared.cost), ("predicted", compared.predicted_cost)):
            if not cost:
                continue
            least_cost, where = lowest.setdefault(name, (cost, memory))
            rise = off(cost, least_cost)
            worst[name] = max(worst[name], rise)
            if rise > RISE:
                amiss.append(f"{network.command(memory)}: {name}, {cost:.4f} times the cost of one tape, and with {where} {least_cost:.4f}")
            lowest[name] = min(lowest[name], (cost, memory))
    row = [str(network), mebibytes(network.least), mebibytes(network.whole()), percent(worst["measured"]), percent(worst["predicted"]), str(len(amiss))]
    return row, amiss
