import AdapterKit
import AdapterProtocol
import Dispatch

#if canImport(Glibc)
    // For `stdout`, a variable of C's that nothing sets.
    @preconcurrency import Glibc
#else
    import Darwin
#endif

/// The program of an adapter that runs in a process of its own.
///
/// ```swift
/// @main struct Program {
///     static func main() { AdapterWorkerProgram.run(NotesModule.self) }
/// }
/// ```
/// The gateway starts it with one end of a socket as descriptor 3 and speaks the protocol of docs/protocol/adapter.md. The
/// program ends when the gateway closes its end.
public enum AdapterWorkerProgram {
    /// The descriptor of the socket that the gateway hands down.
    public static let socket: Int32 = 3
    /// Named to the gateway, for operators.
    public static let sdk = "AdapterWorker 1.0"

    /// Serves the gateway that has started this program, until it closes the connection; then exits. `version` is the
    /// program's own, for operators.
    public static func run(_ module: any AdapterModule.Type, version: String = "") -> Never {
        var status = stat()
        guard fstat(socket, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
            print(
                "This program is an adapter of Portico, which the gateway starts (`plugins: [{path}]`).")
            exit(2)
        }
        // Standard output is a pipe to the gateway's log: what is printed must be in it when the program crashes.
        setlinebuf(stdout)
        let ended = DispatchSemaphore(value: 0)
        let worker = WorkerRuntime(module, version: version, socket: socket) { ended.signal() }
        worker.start()
        ended.wait()
        exit(0)
    }
}
