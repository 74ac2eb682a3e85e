import Client
import Foundation

/// The story that documentation shows, played without a person: `--script`.
struct Story {
    let stage: Stage
    private var phone: Stage.Performer { stage.phone }
    private var tablet: Stage.Performer { stage.tablet }

    func play() async throws {
        say("The phone and the tablet of one person, both signed in.")
        let id = try await begin()
        try await editOffline(id)
        try await meet(id)
        try await resolve(id)
        try await phone.replica.delete(id, in: "notes")
        try await settle(phone)
        say("The note is deleted again. That was it.")
    }

    private func begin() async throws -> String {
        try await settle(phone)
        say("The phone has synced: \(try await phone.replica.count(Words.titles)) notes are on it.")
        let id = try await phone.replica.create(in: "notes", ["title": "Shopping", "text": "milk"])
        try await settle(phone)
        try await settle(tablet)
        say("The phone writes a note. The tablet has it too: \"\(try await text(tablet, id))\".")
        return id
    }

    private func editOffline(_ id: String) async throws {
        phone.network.turn(on: false)
        try await phone.replica.update(id, in: "notes", ["text": "milk and bread"])
        _ = await phone.replica.sync(within: .seconds(5))
        say("The phone goes offline and edits all the same: \"\(try await text(phone, id))\".")
        say("  phone: \(Words.status(phone.replica.status, isOnline: phone.network.isOnline))")
    }

    private func meet(_ id: String) async throws {
        try await tablet.replica.update(id, in: "notes", ["text": "oat milk"])
        try await settle(tablet)
        say("Meanwhile the tablet edits the same note: \"\(try await text(tablet, id))\".")
        phone.network.turn(on: true)
        try await settle(phone)
        say("The phone is back. Nothing is lost, and nothing was overwritten:")
        say("  phone: \(Words.status(phone.replica.status, isOnline: phone.network.isOnline))")
    }

    private func resolve(_ id: String) async throws {
        guard let problem = phone.replica.status.problems.first(where: { $0.recordID == id }) else {
            throw Usage("there is no conflict where there should be one")
        }
        for line in Words.problem(problem) { say("    " + line) }
        try await phone.replica.resolve(problem, with: .update(["text": "oat milk and bread"]))
        try await settle(phone)
        try await settle(tablet)
        say(
            "The person takes both. Phone: \"\(try await text(phone, id))\", tablet: \"\(try await text(tablet, id))\"."
        )
    }

    private func settle(_ device: Stage.Performer) async throws {
        let status = await device.replica.sync(within: .seconds(60))
        if let error = status.lastError { throw error }
        guard status.waiting == 0 else { throw Usage("\(device.name) could not send everything") }
    }

    private func text(_ device: Stage.Performer, _ id: String) async throws -> String {
        try await device.replica.record(id, in: "notes")?["text"]?.stringValue ?? "(none)"
    }

    private func say(_ line: String) {
        print(line)
    }
}
