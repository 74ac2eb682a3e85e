/// The way to people's devices that are asleep. The host makes it from the configuration; what stands behind it (Apple's
/// service, a webhook, a log) is no adapter's business.
///
/// Safe to call from any number of tasks.
public protocol PushSender: Sendable {
    /// The services that are configured, as devices name them when they register.
    var platforms: [PushPlatform] { get }

    /// Waits until other services are configured than these, and says that it is so. False where they stay as they are for as
    /// long as the adapter runs, or the task is cancelled.
    func hasOtherPlatforms(than known: [PushPlatform]) async -> Bool

    /// Returns when the service took the note or it was given up, retries included. Ends with the task that waits.
    func send(_ note: PushNotification, to device: PushDevice) async -> PushDelivery
}

extension PushSender {
    /// The services stay as they are.
    public func hasOtherPlatforms(than known: [PushPlatform]) async -> Bool { false }
}

/// Names a push service: letters, digits and `-`, at most 40 characters.
public struct PushPlatform: ValidatedName {
    public let text: String
    public init(unchecked text: String) { self.text = text }
    public static func isValid(_ text: String) -> Bool { text.isIdentifier(maximumLength: 40, others: "-") }
}

/// One installation of an app.
public struct PushDevice: Sendable, Hashable {
    /// The push service that reaches the device.
    public let platform: PushPlatform
    /// The token by which the service knows the device. Anything that has it can notify the device.
    public let token: Secret

    /// Creates a push device with these values.
    public init(_ platform: PushPlatform, token: Secret) {
        self.platform = platform
        self.token = token
    }
}

/// The text and data of one push notification.
public struct PushNotification: Sendable, Equatable {
    /// The same for every attempt, so that a service can tell a repetition: a UUID.
    public let id: String
    /// The first line.
    public let title: String
    /// The text.
    public let body: String
    /// Notes of one thread are shown together.
    public let thread: String?
    /// For the app, such as the ids of what the note is about.
    public let data: WireDictionary

    /// Creates a push notification with these values.
    public init(id: String, title: String, body: String, thread: String? = nil, data: WireDictionary = [:]) {
        self.id = id
        self.title = title
        self.body = body
        self.thread = thread
        self.data = data
    }
}

/// The outcome of a delivery.
public enum PushDelivery: Sendable, Equatable {
    /// The service took the notification.
    case delivered
    /// The service does not know this device any more: forget it.
    case deviceGone
    /// For operators.
    case failed(String)
}

/// Where no push service is configured.
public struct NoPushSender: PushSender {
    /// Creates the value; it has no state.
    public init() {}

    public var platforms: [PushPlatform] { [] }

    public func send(_ note: PushNotification, to device: PushDevice) async -> PushDelivery {
        .failed("no push service is configured")
    }
}
