import PluginHost
import Testing

@Test(arguments: [
    ("./libNotes.so", "/etc/portico/./libNotes.so"),
    ("team/libNotes.so", "/etc/portico/team/libNotes.so"),
    ("/srv/libNotes.so", "/srv/libNotes.so"),
])
func `A path is looked for beside the configuration, unless it is absolute`(configured: String, resolved: String) {
    let paths = PluginPaths(configurationFolder: "/etc/portico", program: "/opt/portico/bin/portico")
    #expect(paths.resolve(configured) == resolved)
}

@Test(arguments: [
    ("/opt/portico/bin/portico", "/opt/portico/plugins/libNotes.so"),
    ("/bin/portico", "/plugins/libNotes.so"),
    ("/src/.build/release/portico", "/src/.build/release/plugins/libNotes.so"),
    ("/opt/cabin/portico", "/opt/cabin/plugins/libNotes.so"),
])
func `A bare name is looked for in the plugin folder of the program`(program: String, resolved: String) {
    #expect(PluginPaths(configurationFolder: "/etc/portico", program: program).resolve("libNotes.so") == resolved)
}
