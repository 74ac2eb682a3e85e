import AdapterKit

/// `POST /chat`: one URL for every function, named in the request; the contract of the mobile chat app of 2012
/// (docs/adapters/chat.md).
struct Twaddle {
    static let operation = Operation(
        "twaddle", summary: "Runs the function that the request names.", effect: .writes,
        input: ObjectShape(
            "TwaddleRequest", isOpen: true,
            members: [
                Member(function, .string(maximumLength: 64), isRequired: true, summary: "Such as `getusers`."),
                Member(user, ChatLimits.accountName, summary: "The caller's own name, case aside."),
            ]),
        output: .object(ObjectShape("TwaddleAnswer", isOpen: true, members: [])), entities: [Rooms.entity.name],
        bindings: [
            HTTPBinding(
                .post, "/chat",
                form: .document(field: "post", errorMessage: "Problems parsing request-string as JSON"))
        ])

    private static let function: FieldName = "function"
    private static let user: FieldName = "user"

    private let call: Call
    private let context: AdapterContext
    private let settings: ChatSettings

    init(_ call: Call, _ context: AdapterContext, _ settings: ChatSettings) {
        self.call = call
        self.context = context
        self.settings = settings
    }

    func answer() async throws -> WireDictionary {
        try checkUser()
        let function = try function()
        let input = try input(for: function.operation)
        var answer = try await function.answer(ChatCall(call, input, context, settings))
        if settings.echoes { answer["request"] = .dictionary(RequestEcho.of(call.input)) }
        return answer
    }

    /// The original let callers name themselves; here a caller can only name itself.
    private func checkUser() throws(PorticoError) {
        guard let claimed = call[Self.user].stringValue else { return }
        guard claimed.uppercased() == call.caller.name.uppercased() else {
            throw PorticoError(.accessDenied, "The user is not who is signed in.", target: Self.user.text)
        }
    }

    private func function() throws(PorticoError) -> ChatFunction {
        guard let function = call[Self.function].stringValue.flatMap(ChatFunction.named) else {
            throw PorticoError(.requestInvalid, "There is no such function.", target: Self.function.text)
        }
        return function
    }

    /// The declared input of the function, checked; whatever else the request carries is let pass, as the original did.
    private func input(for operation: Operation) throws(PorticoError) -> WireDictionary {
        var input: WireDictionary = [:]
        for member in operation.input.members {
            let sent = call[member.name]
            guard !sent.isNull else { continue }
            input[member.name.text] = member.reading(sent)
        }
        try Shape.object(operation.input).check(.dictionary(input), at: "")
        return input
    }
}

extension Member {
    /// A number or truth value that a form field or an old client spells as text.
    fileprivate func reading(_ value: WireValue) -> WireValue {
        guard acceptsText, let text = value.stringValue else { return value }
        switch shape {
        case .integer: return Int64(text).map(WireValue.int64) ?? value
        case .bool: return text == "true" ? true : text == "false" ? false : value
        default: return value
        }
    }
}

/// The request as an answer shows it: whole, but for secrets.
enum RequestEcho {
    /// Parts of names, in lower case, whose values are secrets: `deviceToken` as well as `token`.
    private static let secrets = [
        "password", "passwd", "pwd", "token", "secret", "authorization", "cookie", "credential", "apikey",
    ]
    private static let removed = WireValue.string("[removed]")

    static func of(_ request: WireDictionary) -> WireDictionary {
        var echo: WireDictionary = [:]
        for entry in request {
            let name = entry.key.lowercased().filter { $0 != "_" && $0 != "-" }
            echo[entry.key] = secrets.contains { name.contains($0) } ? removed : of(entry.value)
        }
        return echo
    }

    /// The request's depth was limited when it was read.
    private static func of(_ value: WireValue) -> WireValue {
        switch value {
        case .dictionary(let members): .dictionary(of(members))
        case .array(let items): .array(items.map { of($0) })
        default: value
        }
    }
}
