import AdapterKit

/// Writes notes to the log, for development: nobody's device hears anything.
public struct LogProvider: PushProvider {
    public let platform: PushPlatform = "log"
    private let log: Log

    public init(log: Log) {
        self.log = log
    }

    public func attempt(_ note: PushNotification, to token: Secret) async -> PushAttempt {
        log.info("push", ["note": .text(note.id), "title": .text(note.title), "body": .text(note.body)])
        return .delivered
    }
}
