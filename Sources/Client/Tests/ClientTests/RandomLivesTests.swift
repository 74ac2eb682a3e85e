import Client
import Foundation
import Testing
import ValueTree

/// Devices that edit, sync, lose requests and answers, and start anew, as a seed says. Each life ends with a network that
/// works, and then everyone must see the same.
@Suite("Random lives")
struct RandomLivesTests {
    @Test("end with every device showing what the server has, and with nothing waiting")
    func lives() async throws {
        let seconds = ProcessInfo.processInfo.environment["TEST_SECONDS"].flatMap { Double($0) } ?? 3
        let end = ContinuousClock.now + .seconds(seconds)
        let first = UInt64.random(in: 0...1 << 32)
        var seed = first
        repeat {
            try await live(seed)
            seed += 1
        } while ContinuousClock.now < end
        print("\(seed - first) random lives, the first of seed \(first)")
    }

    private func live(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let gateway = try await MemoryGateway()
        var devices: [Device] = []
        for name in ["alice", "alice", "bob"] { devices.append(try await Device(name, at: gateway)) }
        for number in 0..<40 {
            try await step(devices[Int.random(in: 0..<3, using: &random)], "\(number)", gateway, &random)
        }
        gateway.isOnline = true
        gateway.failNoMore()
        for _ in 0..<3 { for device in devices { try await settle(device) } }
        try await compare(devices, seed)
    }

    private func step(
        _ device: Device, _ mark: String, _ gateway: MemoryGateway, _ random: inout SeededRandom
    ) async throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: gateway.isOnline.toggle()
        case 1: try await device.reopen()
        case 2: gateway.fail(once: { $0.url.hasSuffix("push") ? .answerLost : nil })
        case 3: gateway.fail(once: { $0.url.hasSuffix("pull") ? .lost : nil })
        case 4, 5: await device.sync()
        default: try await edit(device, mark, &random)
        }
    }

    private func edit(_ device: Device, _ mark: String, _ random: inout SeededRandom) async throws {
        let notes = try await device.replica.records(RecordQuery("notes"))
        guard let note = notes.randomElement(using: &random), Bool.random(using: &random) else {
            _ = try await device.note(mark, sharedWith: Bool.random(using: &random) ? ["bob", "alice"] : [])
            return
        }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try await device.replica.delete(note.id, in: "notes")
        case 1: try await device.replica.update(note.id, in: "notes", ["sharedWith": []])
        default: try await device.replica.update(note.id, in: "notes", ["title": .string(mark)])
        }
    }

    private func settle(_ device: Device) async throws {
        for _ in 0..<10 {
            let status = await device.sync()
            for problem in status.problems { try await device.replica.resolve(problem, with: nil) }
            if status.waiting == 0, status.problems.isEmpty, status.lastError == nil { return }
        }
        Issue.record("stuck: \(device.replica.status)")
    }

    private func compare(_ devices: [Device], _ seed: UInt64) async throws {
        for (device, name) in zip(devices, ["alice", "alice", "bob"]) {
            let fresh = try await Device(name, at: device.gateway)
            await fresh.sync()
            let (shown, there) = (try await notes(of: device), try await notes(of: fresh))
            #expect(shown == there, "seed \(seed)")
        }
    }

    private func notes(of device: Device) async throws -> [Record] {
        try await device.replica.records(RecordQuery("notes"))
    }
}
