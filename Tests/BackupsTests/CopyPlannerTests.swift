import AdapterKit
import Testing

@testable import Backups

/// Schedules, faults and restarts that are generated from a seed, and what has to hold at every step of each.
@Suite struct CopyPlannerTests {
    private static let start = 1_800_000_000.0

    private static func name(_ time: Double, _ random: UInt32) -> CopyName {
        CopyName(begun: WireDate(secondsSince1970: time), random: random)
    }

    @Test func `a gateway that starts makes a copy, checks it, and waits for the schedule`() {
        var planner = CopyPlanner(.init(schedule: .every(3_600), keep: 2))
        #expect(planner.next(at: Self.start) == .copy)
        let first = Self.name(Self.start, 1)
        planner.copyBegan()
        planner.noteCopied(first, begun: Self.start)
        #expect(planner.next(at: Self.start + 1) == .verify(first))
        #expect(!planner.logIsRestorable)
        planner.noteVerified(first)
        #expect(planner.logIsRestorable)
        #expect(planner.next(at: Self.start + 2) == .wait(until: Self.start + 3_600))
        #expect(planner.next(at: Self.start + 3_600) == .copy)
        planner.logBegan()
        #expect(planner.next(at: Self.start + 2) == .copy && !planner.logIsRestorable)
    }

    @Test func `a damaged copy is made anew, and the good ones before it stay`() {
        var planner = CopyPlanner(.init(schedule: .every(3_600), keep: 1))
        let (old, damaged) = (Self.name(Self.start - 7_200, 1), Self.name(Self.start, 2))
        planner.learn(old, begun: Self.start - 7_200, isVerified: true, isFinished: true)
        planner.noteCopied(damaged, begun: Self.start)
        planner.foundDamaged(damaged, at: Self.start + 1)
        #expect(planner.removable == [])
        #expect(planner.next(at: Self.start + 1) == .wait(until: Self.start + 6))
        #expect(planner.next(at: Self.start + 6) == .copy)
        let good = Self.name(Self.start + 6, 3)
        planner.noteCopied(good, begun: Self.start + 6)
        planner.noteVerified(good)
        #expect(planner.removable == [old, damaged])
    }

    @Test func `nothing is removed but what enough newer verified copies replace, whatever fails`() {
        var removed = 0
        for seed in 1...400 {
            var random = SeededNumbers(seed: UInt64(seed))
            let keep = Int.random(in: 1...4, using: &random)
            let schedule = BackupSchedule.every(Int.random(in: 60...20_000, using: &random))
            var planner = CopyPlanner(.init(schedule: schedule, keep: keep))
            // What the target really has: the planner may be of a gateway that was started anew.
            var target: [CopyName: Bool] = [:]
            var now = Self.start
            for step in 0..<300 {
                switch planner.next(at: now) {
                case .copy:
                    let name = Self.name(now, UInt32(step))
                    planner.copyBegan()
                    if Int.random(in: 0..<5, using: &random) == 0 {
                        planner.leftUnfinished(name, begun: now)
                        planner.noteFailure(at: now)
                    } else {
                        planner.noteCopied(name, begun: now)
                    }
                    target[name] = false
                case .verify(let name):
                    #expect(target[name] == false)
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0: planner.foundDamaged(name, at: now)
                    case 1: planner.noteFailure(at: now)
                    default:
                        planner.noteVerified(name)
                        target[name] = true
                    }
                case .remove(let names):
                    for name in names {
                        let newer = target.filter { $0.value && $0.key > name }.count
                        #expect(newer >= (target[name] == true ? keep : 1), "seed \(seed), step \(step)")
                        if Int.random(in: 0..<8, using: &random) == 0 {
                            planner.removalFailed(at: now)
                            break
                        }
                        planner.noteRemoved(name)
                        target[name] = nil
                        removed += 1
                    }
                case .wait(let until):
                    #expect(until > now, "seed \(seed), step \(step)")
                    now = min(until, now + Double(Int.random(in: 1...4_000, using: &random)))
                }
                now += 1
                switch Int.random(in: 0..<60, using: &random) {
                case 0: planner.logBegan()
                case 1: planner.request()
                case 2:
                    planner = CopyPlanner(.init(schedule: schedule, keep: keep))
                    for (name, isVerified) in target {
                        planner.learn(name, begun: name.begun, isVerified: isVerified, isFinished: true)
                    }
                default: break
                }
            }
        }
        #expect(removed > 1_000)
    }

    @Test func `failures are tried again, at last every ten minutes`() {
        var planner = CopyPlanner(.init(schedule: .every(60), keep: 1))
        var (now, pauses) = (Self.start, [Double]())
        for _ in 0..<10 {
            guard planner.next(at: now) == .copy else { continue }
            planner.noteFailure(at: now)
            guard case .wait(let until) = planner.next(at: now) else { continue }
            pauses.append(until - now)
            now = until
        }
        #expect(pauses == [5, 10, 20, 40, 80, 160, 320, 600, 600, 600])
    }
}

/// SplitMix64.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }
}
