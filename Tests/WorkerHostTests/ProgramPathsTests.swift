import Foundation
import Testing
import WorkerHost

@Test(arguments: [
    ("./notes-worker", "/etc/portico/./notes-worker"),
    ("team/notes-worker", "/etc/portico/team/notes-worker"),
    ("/srv/notes-worker", "/srv/notes-worker"),
])
func `A path is looked for beside the configuration, unless it is absolute`(configured: String, resolved: String) {
    let paths = ProgramPaths(configurationFolder: "/etc/portico", gateway: "/opt/portico/bin/portico")
    #expect(paths.resolve(configured) == resolved)
}

@Test(arguments: [
    ("/opt/portico/bin/portico", "/opt/portico/plugins/notes-worker"),
    ("/bin/portico", "/plugins/notes-worker"),
    ("/src/.build/release/portico", "/src/.build/release/plugins/notes-worker"),
    ("/opt/cabin/portico", "/opt/cabin/plugins/notes-worker"),
])
func `A bare name is looked for in the plugin folder of the gateway`(gateway: String, resolved: String) {
    #expect(ProgramPaths(configurationFolder: "/etc/portico", gateway: gateway).resolve("notes-worker") == resolved)
}

@Test func `A folder of the name stands for the program of the name in it`() throws {
    let folder = try TemporaryFolder()
    let program = try folder.write([], to: "plugins/notes-worker/notes-worker")
    let paths = ProgramPaths(configurationFolder: "/etc/portico", gateway: folder.path("portico"))
    #expect(paths.resolve("notes-worker") == program)
}
