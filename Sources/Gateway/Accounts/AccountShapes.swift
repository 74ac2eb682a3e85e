import AdapterKit
import Identity
import ValueTree

/// What the endpoints of an account answer.
enum AccountShapes {
    static let user = Shape.object(userObject)

    static let userObject = ObjectShape(
        "User",
        members: [
            Member("id", .string, isRequired: true), Member("name", .string, isRequired: true),
            Member("displayName", .string), Member("roles", .list(of: .string), isRequired: true),
        ])

    static let tokenMembers = [
        Member("accessToken", .string, isRequired: true), Member("refreshToken", .string, isRequired: true),
        Member("tokenType", .choice(["Bearer"]), isRequired: true),
        Member("expiresIn", .integer, isRequired: true, summary: "Seconds."),
    ]

    static let tokens = Shape.object(ObjectShape("Tokens", members: tokenMembers))

    static let sessions = Shape.object(
        ObjectShape(
            "Sessions", members: [Member("sessions", .list(of: .object(session)), isRequired: true)]))

    private static let session = ObjectShape(
        "Session",
        members: [
            Member("id", .string, isRequired: true), Member("created", .date, isRequired: true),
            Member("lastUsed", .date, isRequired: true), Member("expires", .date, isRequired: true),
            Member("address", .string, isRequired: true),
            Member("current", .bool, isRequired: true, summary: "Whether this call belongs to it."),
        ])

    static func value(of session: Session) -> WireDictionary {
        [
            "id": .string(session.id.text), "created": .date(session.created.wholeSeconds),
            "lastUsed": .date(session.lastUsed.wholeSeconds), "expires": .date(session.expires.wholeSeconds),
            "address": .string(session.address),
        ]
    }

    static let signIn = Shape.object(
        ObjectShape("SignIn", members: tokenMembers + [Member("user", user, isRequired: true)]))
}
