import GRDB

/// What a commit waits for.
public enum Durability: String, Sendable {
    /// What was persisted survives the loss of power (`synchronous = FULL`).
    case power = "FULL"
    /// What was persisted survives the end of the process, as where a simulation ends nothing else.
    case process = "OFF"

    func install(_ database: Database) throws {
        try database.execute(sql: "PRAGMA synchronous = \(rawValue)")
    }

    /// For what need not survive.
    func relax(_ database: Database) throws {
        if self == .power { try database.execute(sql: "PRAGMA synchronous = NORMAL") }
    }

    /// Back to what it was. Setting it touches no file, so it has nothing to fail of; it must not be passed over if it did.
    func restore(_ database: Database) {
        do { try install(database) } catch { fatalError("synchronous cannot be set: \(error)") }
    }
}
