import AdapterKit

/// One service that reaches people's devices.
public protocol PushProvider: Sendable {
    var platform: PushPlatform { get }

    /// One attempt. Ends with the task that waits.
    func attempt(_ notification: PushNotification, to token: Secret) async -> PushAttempt
}

/// What became of one attempt.
public enum PushAttempt: Sendable, Equatable {
    case delivered
    case deviceGone
    /// It may work later; nil: whenever the sender likes.
    case later(Duration?, String)
    /// It will not work the next time either.
    case refused(String)
}

/// The configured services, with their retries: the host's ``PushSender``.
public struct PushServices: PushSender {
    private let providers: [PushPlatform: any PushProvider]
    private let limits: PushLimits
    private let log: Log

    public init(_ providers: [any PushProvider], limits: PushLimits = PushLimits(), log: Log) {
        self.providers = Dictionary(providers.map { ($0.platform, $0) }, uniquingKeysWith: { $1 })
        self.limits = limits
        self.log = log
    }

    public var platforms: [PushPlatform] { providers.keys.sorted() }

    public func send(_ notification: PushNotification, to device: PushDevice) async -> PushDelivery {
        guard let provider = providers[device.platform] else { return .failed("\(device.platform) is not configured") }
        var plan = DeliveryPlan(limits)
        while true {
            switch plan.next(after: await provider.attempt(notification, to: device.token)) {
            case .end(let delivery):
                if case .failed(let reason) = delivery {
                    log.warning(
                        "push failed",
                        [
                            "platform": .text(device.platform.text), "note": .text(notification.id),
                            "detail": .text(reason),
                        ])
                }
                return delivery
            case .pause(let time):
                guard (try? await Task.sleep(for: time)) != nil else { return .failed("the server stops") }
            }
        }
    }
}

/// How often and how long one note is tried.
public struct PushLimits: Sendable, Equatable {
    /// `push.limits.tries`: the first one included.
    public var tries = 4
    /// `push.limits.pause`: before the second try; it doubles.
    public var pause = Duration.milliseconds(500)
    /// `push.limits.longestPause`: what a service may ask for; more, and the note is given up.
    public var longestPause = Duration.seconds(20)

    public init() {}
}

/// One note's way from its first attempt to its end: a state machine.
struct DeliveryPlan {
    enum Action: Equatable {
        case pause(Duration)
        case end(PushDelivery)
    }

    private let limits: PushLimits
    private var tries = 1

    init(_ limits: PushLimits) {
        self.limits = limits
    }

    mutating func next(after attempt: PushAttempt) -> Action {
        switch attempt {
        case .delivered: return .end(.delivered)
        case .deviceGone: return .end(.deviceGone)
        case .refused(let reason): return .end(.failed(reason))
        case .later(let asked, let reason):
            guard tries < limits.tries, asked ?? .zero <= limits.longestPause else { return .end(.failed(reason)) }
            defer { tries += 1 }
            let usual = min(limits.pause * (1 << min(tries - 1, 16)), limits.longestPause)
            return .pause(max(asked ?? .zero, usual))
        }
    }
}

/// Writes notes to the log, for development: no device is notified.
public struct LogProvider: PushProvider {
    public let platform: PushPlatform = "log"
    private let log: Log

    public init(log: Log) {
        self.log = log
    }

    public func attempt(_ notification: PushNotification, to token: Secret) async -> PushAttempt {
        log.info(
            "push",
            ["note": .text(notification.id), "title": .text(notification.title), "body": .text(notification.body)])
        return .delivered
    }
}
