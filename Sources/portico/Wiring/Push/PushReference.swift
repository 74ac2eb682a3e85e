import HostConfiguration

/// The keys below `push`.
enum PushReference {
    static let keys = common + apns + webhook

    private static let common = [
        ConfigurationKey(
            "push.log", .flag, default: "false", "Whether notes to devices of the platform `log` are logged."),
        ConfigurationKey("push.limits.tries", .integer(1...20), default: "4", "Of one note, the first included."),
        ConfigurationKey("push.limits.pause", .duration, default: "500ms", "Before the second try; it doubles."),
        ConfigurationKey(
            "push.limits.longestPause", .duration, default: "20s",
            "What a service may ask to be left alone for; for more a note is given up."),
    ]

    private static let apns =
        [
            ConfigurationKey(
                "push.apns.topic", .text, "Apple's push service: the app's bundle id. Without it it is not used."),
            ConfigurationKey("push.apns.team", .text, default: "", "Apple's push service: the team's id."),
            ConfigurationKey("push.apns.keyID", .text, default: "", "Apple's push service: the key's id."),
            ConfigurationKey(
                "push.apns.key", .secret(allowsPlain: false), "Apple's push service: the key (PEM, a `.p8` file)."),
            ConfigurationKey(
                "push.apns.server", .text, default: "https://api.push.apple.com", "Apple's push service: where it is."),
        ] + reach("push.apns")

    private static let webhook =
        [
            ConfigurationKey(
                "push.webhook.address", .text, "Webhook: where notes are posted to. Without it it is not used."),
            ConfigurationKey("push.webhook.secret", .secret(allowsPlain: false), "Webhook: signs what is posted."),
        ] + reach("push.webhook")

    private static func reach(_ name: String) -> [ConfigurationKey] {
        [
            ConfigurationKey(
                "\(name).networks", .list(of: .text), default: "[]", "Networks that are not public and may be reached."),
            ConfigurationKey(
                "\(name).certificates", .list(of: .text), default: "[]",
                "Files (PEM) of further certificates that are trusted."),
        ]
    }
}
