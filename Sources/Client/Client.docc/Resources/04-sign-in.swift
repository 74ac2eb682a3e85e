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
