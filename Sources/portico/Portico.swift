import ArgumentParser
import BuiltInAdapters
import Host
import porticoctl

/// The gateway's program, which is the operator's command line where it is called by that name: one program instead of two
/// that are mostly the same.
@main
enum Program {
    /// The other name, which an installed tree has as a link.
    private static let controlName = "porticoctl"

    static func main() async {
        if CommandLine.arguments.first?.split(separator: "/").last == controlName[...] {
            await PorticoControl.main()
        } else {
            await PorticoProgram.main()
        }
    }
}

/// Portico with the adapters that come with it.
enum PorticoProgram: HostProgram {
    static let name = "portico"
    static let adapters = BuiltInAdapters.all
    static let commands: [any ParsableCommand.Type] = [Convert.self]
}
