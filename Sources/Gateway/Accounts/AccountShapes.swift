import AdapterKit

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

    static let signIn = Shape.object(
        ObjectShape("SignIn", members: tokenMembers + [Member("user", user, isRequired: true)]))
}
