import porticoctl

/// `porticoctl` by itself. Installed, it is another name of `portico`, which has the same commands in it.
@main
struct PorticoControlProgram {
    static func main() async { await PorticoControl.main() }
}
