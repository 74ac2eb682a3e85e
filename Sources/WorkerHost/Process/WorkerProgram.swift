import AdapterKit
import Glibc

/// A worker to be started: the program, its own folder and its limits.
public struct WorkerProgram: Sendable, Equatable {
    /// Whether a worker runs where the kernel cannot restrict its files and system calls.
    public enum Sandbox: String, Sendable, Equatable, CaseIterable {
        /// It does not start.
        case require
        /// It runs, and the log has a warning.
        case warn
        /// Nothing is restricted but resources. For debugging a worker.
        case off
    }

    /// The absolute path of the program. A script names its interpreter by path.
    public var executable: String
    /// The arguments behind the path.
    public var arguments: [String]
    /// The absolute path of the folder that it may read and write, where it begins. It is made where it is missing.
    public var folder: String
    /// Further files and folders that it may read.
    public var readable: [String]
    /// Folders of which it may read the names of all files, and no file for that.
    public var listable: [String] = []
    /// Whether it may read the folder of ``executable``. Its own file it may read in any case.
    public var readsProgramFolder = true
    /// Whether it may read the folder `../lib` of that folder, where an installed program has its libraries.
    public var readsLibraryFolder = true
    /// Absolute paths of files and folders that it may not read although they lie below folders that it may.
    public var closed: [String] = []
    /// Environment beyond what every worker gets.
    public var environment: [String: String]
    public var limits: WorkerLimits
    public var sandbox: Sandbox
    /// The absolute path of `portico-worker-launcher`.
    public var launcher: String

    /// Creates a program with these values. `launcher`: nil for the one beside the running program.
    public init(
        executable: String, arguments: [String] = [], folder: String, readable: [String] = [],
        environment: [String: String] = [:], limits: WorkerLimits = WorkerLimits(), sandbox: Sandbox = .warn,
        launcher: String? = nil
    ) {
        self.executable = executable
        self.arguments = arguments
        self.folder = folder
        self.readable = readable
        self.environment = environment
        self.limits = limits
        self.sandbox = sandbox
        self.launcher = launcher ?? FilePaths.ofRunningProgram.folder + "/portico-worker-launcher"
    }

    /// The launcher's arguments, its own name first.
    func launcherArguments(host: Int32) -> [String] {
        var all = [launcher, "--parent", "\(host)", "--folder", folder, "--sandbox", sandbox.rawValue]
        for path in readableFolders { all += ["--read", path] }
        for path in listable { all += ["--list", path] }
        for path in closed { all += ["--close", path] }
        all += ["--memory", "\(limits.memory)", "--file", "\(limits.file)"]
        all += ["--descriptors", "\(limits.descriptors)", "--processes", "\(limits.processes)"]
        if let seconds = limits.processorSeconds { all += ["--cpu-seconds", "\(seconds)"] }
        return all + ["--", executable] + arguments
    }

    /// All that a worker learns of the host's environment is its time zone.
    func workerEnvironment(timeZone: String?) -> [String] {
        var all = [
            "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": folder, "TMPDIR": folder,
            // A trap would take most of a second.
            "SWIFT_BACKTRACE": "enable=no",
            "PORTICO_WORKER_SOCKET": "3",
        ]
        if let timeZone { all["TZ"] = timeZone }
        all.merge(environment) { _, own in own }
        return all.map { "\($0.key)=\($0.value)" }.sorted()
    }

    /// The folders that it may read beside its own folder and file, and beside the system's libraries.
    public var readableFolders: [String] { readable + libraryFolders + programFolder }

    /// The folder of the program's file: not where the worker's own folder is below it, since the gateway's files are
    /// beside that one.
    private var programFolder: [String] {
        let folder = Self.folders(of: executable).program
        return !readsProgramFolder || FilePaths.resolved(self.folder).isBelow(folder) ? [] : [folder]
    }

    /// Where an installed program finds its libraries (`$ORIGIN/../lib`), and those of the host's Swift runtime.
    private var libraryFolders: [String] {
        (readsLibraryFolder ? [Self.folders(of: executable).library] : []) + FilePaths.ofSwiftRuntime
    }

    /// The folder of a program's file, and that of its libraries, symbolic links resolved.
    public static func folders(of executable: String) -> (program: String, library: String) {
        let folder = FilePaths.resolved(executable).folder
        return (folder, (folder.folder == "/" ? "" : folder.folder) + "/lib")
    }
}

/// Limits of a worker. The kernel enforces all but its threads; see setrlimit(2).
public struct WorkerLimits: Sendable, Equatable {
    /// Bytes of private memory (`RLIMIT_DATA`).
    public var memory: UInt64
    /// Bytes of one file that it writes (`RLIMIT_FSIZE`).
    public var file: UInt64
    /// Open descriptors (`RLIMIT_NOFILE`).
    public var descriptors: UInt64
    /// Threads and processes of the host's user, all together (`RLIMIT_NPROC`). Not enforced for root.
    public var processes: UInt64
    /// Its own threads. The kernel cannot count them apart from others': the host looks each second, and ends it.
    public var threads: UInt64
    /// Seconds of processor time in its life (`RLIMIT_CPU`); nil: as many as it takes.
    public var processorSeconds: UInt64?

    /// Creates limits with these values.
    public init(
        memory: UInt64 = 1 << 30, file: UInt64 = 1 << 30, descriptors: UInt64 = 256, processes: UInt64 = 4_096,
        threads: UInt64 = 1_024, processorSeconds: UInt64? = nil
    ) {
        self.memory = memory
        self.file = file
        self.descriptors = descriptors
        self.processes = processes
        self.threads = threads
        self.processorSeconds = processorSeconds
    }
}

/// Paths that are read once.
enum FilePaths {
    static let ofRunningProgram = resolved("/proc/self/exe")

    /// The folders of this process' libraries of the Swift runtime: a worker is built with the same.
    static let ofSwiftRuntime: [String] = {
        guard let file = fopen("/proc/self/maps", "re") else { return [] }
        defer { fclose(file) }
        var folders: Set<String> = []
        while let line = line(of: file) {
            guard let slash = line.utf8.firstIndex(of: UInt8(ascii: "/")), line.contains("/libswiftCore.so") else {
                continue
            }
            folders.insert(String(line[slash...]).folder)
        }
        return folders.sorted()
    }()

    /// Absolute, without symbolic links; as it is where there is no such file.
    static func resolved(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }

    private static func line(of file: UnsafeMutablePointer<FILE>) -> String? {
        var (text, capacity): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
        defer { free(text) }
        guard getline(&text, &capacity, file) > 0, let text else { return nil }
        return String(cString: text)
    }
}

extension String {
    /// Without its last component.
    var folder: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }

    /// Whether an absolute path is `folder` or leads into it, by bytes: `/` and a combining mark after it are one `Character`.
    func isBelow(_ folder: String) -> Bool {
        utf8.elementsEqual(folder.utf8) || utf8.starts(with: (folder == "/" ? "/" : folder + "/").utf8)
    }
}
