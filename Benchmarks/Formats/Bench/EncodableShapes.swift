import Foundation
import Shapes
import ValueTree

/// The shapes as a program's own types, which is what JSONEncoder is best at.
enum EncodableShapes {
    static func documents(of shape: Shape) -> [any Encodable] {
        switch shape.name {
        case Shape.sonnets.name: shape.documents.map { Feed(verses: $0["verses"].items.map { $0.items.map(\.text) }) }
        case Shape.employees.name: shape.documents.map { $0.items.map(Employee.init) }
        default: shape.documents.map { OperationResult(posts: $0["posts"].items.map(Post.init), more: true) }
        }
    }
}

private struct Feed: Encodable {
    let verses: [[String]]
}

private struct Employee: Encodable {
    let id: Int64
    let firstName, lastName, division, email, phoneNumber: String
    let hired: Date

    init(_ value: WireValue) {
        id = value["id"].number
        (firstName, lastName) = (value["firstName"].text, value["lastName"].text)
        (division, email, phoneNumber) = (value["division"].text, value["email"].text, value["phoneNumber"].text)
        hired = value["hired"].instant
    }
}

private struct OperationResult: Encodable {
    let posts: [Post]
    let more: Bool
}

private struct Post: Encodable {
    let id: Int64
    let author, text: String

    init(_ value: WireValue) {
        (id, author, text) = (value["id"].number, value["author"].text, value["text"].text)
    }
}

/// The shapes are our own: a member that is not there is a mistake in this file.
extension WireValue? {
    fileprivate var items: [WireValue] { if case .array(let items) = self { items } else { fatalError("no list") } }
    fileprivate var text: String { if case .string(let text) = self { text } else { fatalError("no text") } }
    fileprivate var number: Int64 { if case .int64(let number) = self { number } else { fatalError("no number") } }
    fileprivate var instant: Date {
        guard case .date(let date) = self else { fatalError("no date") }
        return Date(timeIntervalSinceReferenceDate: date.secondsSinceReferenceDate)
    }
}

extension WireValue {
    fileprivate var items: [WireValue] { Optional(self).items }
    fileprivate var text: String { Optional(self).text }
}
