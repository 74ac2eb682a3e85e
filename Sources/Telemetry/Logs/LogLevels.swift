import AdapterKit
import Synchronization

/// The least level that each module logs, changed while it runs. Modules are `portico`, `requests`, `identity`, `upstream`, `traces`
/// and the adapters' names.
public final class LogLevels: Sendable {
    /// The lines of requests.
    public static let requests = "requests"

    /// One module's level, read with every message.
    public final class Module: Sendable {
        fileprivate let level: Atomic<Int>

        fileprivate init(_ level: LogLevel) {
            self.level = Atomic(level.severity)
        }

        /// Whether a message of this level is logged.
        public func isEnabled(_ level: LogLevel) -> Bool { level.severity >= self.level.load(ordering: .relaxed) }
    }

    private struct State {
        var general: LogLevel
        var own: [String: LogLevel]
        var modules: [String: Module] = [:]
    }

    private let state: Mutex<State>

    /// `own`: the levels of modules that differ from the general one.
    public init(_ general: LogLevel, own: [String: LogLevel] = [:]) {
        state = Mutex(State(general: general, own: own))
    }

    /// Made known by its first use.
    public func module(_ name: String) -> Module {
        state.withLock { state in
            if let known = state.modules[name] { return known }
            let module = Module(state.own[name] ?? state.general)
            state.modules[name] = module
            return module
        }
    }

    /// By name, each with whether it differs from the general level.
    public var all: [(name: String, level: LogLevel, isOwn: Bool)] {
        state.withLock { state in
            state.modules.keys.sorted().map { ($0, state.own[$0] ?? state.general, state.own[$0] != nil) }
        }
    }

    /// The level of modules without a level of their own.
    public var general: LogLevel { state.withLock { $0.general } }

    /// nil: the general level again. False where there is no such module.
    public func set(_ level: LogLevel?, of name: String) -> Bool {
        state.withLock { state in
            guard let module = state.modules[name] else { return false }
            state.own[name] = level
            module.level.store((level ?? state.general).severity, ordering: .relaxed)
            return true
        }
    }

    /// Sets the level of all modules without a level of their own.
    public func setGeneral(_ level: LogLevel) {
        state.withLock { state in
            state.general = level
            for (name, module) in state.modules where state.own[name] == nil {
                module.level.store(level.severity, ordering: .relaxed)
            }
        }
    }
}

extension LogLevel {
    /// From the least severe to the most.
    public var severity: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
