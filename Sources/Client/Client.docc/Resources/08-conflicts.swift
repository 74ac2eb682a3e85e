import Client
import Foundation

let folder = URL(fileURLWithPath: "notes-of-this-device")
let settings = PorticoSettings(replica: ReplicaSettings(collections: ["notes"]))
let portico = try await Portico.open(ServerAddress("http://127.0.0.1:8080")!, in: folder, settings: settings)

if await portico.account == nil {
    print("name: ", terminator: "")
    let name = readLine() ?? ""
    print("password: ", terminator: "")
    let password = readLine() ?? ""
    try await portico.signIn(name: name, password: password)
}

let replica = try await portico.replica()
let notes = RecordQuery("notes", order: [.ascending("title")])

let list = Task.detached { [replica, notes] in
    for try await records in replica.observe(notes) {
        print("--- \(records.count) notes")
        for note in records {
            print(note["title"]?.stringValue ?? "", note.isWaiting ? "(not sent yet)" : "")
        }
    }
}

let state = Task.detached { [replica] in
    for await status in replica.statuses {
        switch status.phase {
        case .signInNeeded: print("--- please sign in again")
        case .waiting: print("--- no network, \(status.waiting) to be sent")
        default: break
        }
        for problem in status.problems {
            switch problem.cause {
            case .conflict(.some(let theirs)):
                print("--- another device wrote \"\(theirs["title"]?.stringValue ?? "")\" too; yours stays")
                try await replica.resolve(problem, with: problem.edit)
            case .conflict(nil):
                print("--- another device deleted the note that you changed")
                try await replica.resolve(problem, with: nil)
            case .rejected(let code):
                print("--- the server refused an edit: \(code)")
                try await replica.resolve(problem, with: nil)
            }
        }
    }
}

while let line = readLine() {
    try await replica.create(in: "notes", ["title": .string(line), "text": ""])
}
list.cancel()
state.cancel()
await portico.close()
