/// A business object in Swift.
struct SwiftObject {
    private let type: ObjectType

    init(_ type: ObjectType) {
        self.type = type
    }

    func write(to page: inout Page) {
        page.block("public struct \(type.name): Codable, Sendable, Equatable") { page in
            for member in type.members {
                page.comment(member.summary, "///")
                page.line("public var \(SwiftName.member(member.name)): \(Self.type(member))")
            }
            writeInitializer(&page)
            writeKeys(&page)
            for member in type.members { writeChoices(member, &page) }
        }
    }

    private static func type(_ member: ObjectMember) -> String {
        SwiftName.type(member.type, of: member.name) + (member.isRequired ? "" : "?")
    }

    private func writeInitializer(_ page: inout Page) {
        let ordered = type.members.filter(\.isRequired) + type.members.filter { !$0.isRequired }
        let parameters = ordered.map { member in
            "\(SwiftName.member(member.name)): \(Self.type(member))" + (member.isRequired ? "" : " = nil")
        }
        page.line()
        page.block("public init(\(parameters.joined(separator: ", ")))") { page in
            for member in type.members {
                page.line("self.\(SwiftName.member(member.name)) = \(SwiftName.member(member.name))")
            }
        }
    }

    private func writeKeys(_ page: inout Page) {
        guard type.members.contains(where: { SwiftName.bare($0.name) != $0.name }) else { return }
        page.line()
        page.block("private enum CodingKeys: String, CodingKey") { page in
            for member in type.members {
                page.line("case \(SwiftName.member(member.name)) = \(SwiftName.literal(member.name))")
            }
        }
    }

    private func writeChoices(_ member: ObjectMember, _ page: inout Page) {
        guard let choices = member.type.choices else { return }
        page.line()
        page.block("public enum \(Words(member.name).upperCamel): String, Codable, Sendable") { page in
            for choice in choices { page.line("case \(SwiftName.member(choice)) = \(SwiftName.literal(choice))") }
        }
    }
}
