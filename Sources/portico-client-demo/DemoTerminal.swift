import Client
import Foundation

/// The same by hand: one key and Return for each step. What changes at the gateway shows by itself.
struct DemoTerminal {
    let stage: Stage
    private var phone: Stage.Performer { stage.phone }
    private var tablet: Stage.Performer { stage.tablet }

    func run() async {
        print(Self.help)
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await follow() }
            while let line = await Keyboard.line(), line != "q" {
                do { try await act(line) } catch { print("  " + Words.reason(error)) }
            }
            group.cancelAll()
        }
    }

    private static let help = """
        This terminal is your phone; your tablet is simulated beside it.
          n TEXT     a new note              e N TEXT   edit note N          d N   delete note N
          o          the network off or on   t N TEXT   edit note N on the tablet
          r          resolve the next conflict          l     list           q     end
        """

    /// Shows the notes and the status whenever they are others.
    private func follow() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for try await notes in phone.replica.observe(Words.titles) { show(notes) } }
            group.addTask {
                var last = ""
                for await status in phone.replica.statuses {
                    let line = Words.status(status, isOnline: phone.network.isOnline)
                    if line != last { print("  [\(line)]") }
                    last = line
                }
            }
            try await group.waitForAll()
        }
    }

    private func show(_ notes: [Record]) {
        print("Notes:")
        for (number, note) in notes.enumerated() { print(Words.line(number + 1, note)) }
    }

    private func act(_ line: String) async throws {
        let words = line.split(separator: " ", maxSplits: 2).map { String($0) }
        switch words.first {
        case "n": try await phone.replica.create(in: "notes", ["title": .string(rest(words, 1)), "text": ""])
        case "e":
            try await phone.replica.update(try await note(words).id, in: "notes", ["text": .string(rest(words, 2))])
        case "d": try await phone.replica.delete(try await note(words).id, in: "notes")
        case "t": try await editOnTablet(words)
        case "o": await turnNetwork()
        case "r": try await resolve()
        case "l": show(try await phone.replica.records(Words.titles))
        default: print(Self.help)
        }
    }

    private func turnNetwork() async {
        let isOn = !phone.network.isOnline
        phone.network.turn(on: isOn)
        print(isOn ? "The network is on." : "The network is off. Go on working.")
        if isOn { await phone.replica.networkMayBeBack() }
    }

    private func editOnTablet(_ words: [String]) async throws {
        let id = try await note(words).id
        _ = await tablet.replica.sync(within: .seconds(10))
        try await tablet.replica.update(id, in: "notes", ["text": .string(rest(words, 2))])
        _ = await tablet.replica.sync(within: .seconds(10))
    }

    private func resolve() async throws {
        guard let problem = phone.replica.status.problems.first else { return print("There is nothing to resolve.") }
        for line in Words.problem(problem) { print("  " + line) }
        print("Type m for mine, s for the server's, or another text.")
        guard let choice = await Keyboard.line() else { return }
        switch choice {
        case "s": try await phone.replica.resolve(problem, with: nil)
        case "m": try await phone.replica.resolve(problem, with: problem.edit)
        default: try await phone.replica.resolve(problem, with: .update(["text": .string(choice)]))
        }
    }

    private func note(_ words: [String]) async throws -> Record {
        let notes = try await phone.replica.records(Words.titles)
        guard words.count > 1, let number = Int(words[1]), notes.indices.contains(number - 1) else {
            throw Usage("there is no such note; l lists them")
        }
        return notes[number - 1]
    }

    private func rest(_ words: [String], _ from: Int) -> String {
        words.dropFirst(from).joined(separator: " ")
    }
}

/// Lines of the standard input, waited for on a thread of their own.
private enum Keyboard {
    static func line() async -> String? {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: readLine()) }
        }
    }
}
