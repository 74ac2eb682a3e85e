import AdapterKit
import ODataLanguage
import ODataModel

/// What an expression stands for: how it is computed, and its type in the model.
struct TypedExpression {
    var expression: RowExpression
    /// Nil for null, which is of every type.
    var type: TypeReference?
    /// The literal that it was written as; it takes the type of what it meets.
    var literal: Literal?

    init(_ expression: RowExpression, _ type: TypeReference?, literal: Literal? = nil) {
        self.expression = expression
        self.type = type
        self.literal = literal
    }

    init(_ expression: RowExpression, _ primitive: PrimitiveType) {
        self.init(expression, TypeReference(.primitive(primitive)))
    }

    static let null = TypedExpression(.value(.null), nil, literal: .null)

    var isNull: Bool { literal == .null }
}

/// Types that compare with each other.
enum TypeFamily: Equatable {
    case boolean, number, string, guid, date, timeOfDay, dateTimeOffset, duration, binary
    case enumeration(QualifiedName)
    case spatial
    case structured
    case collection
    /// What the model leaves open.
    case untyped
}

extension EntityDataModel {
    func family(of type: TypeReference) -> TypeFamily {
        if type.isCollection { return .collection }
        switch type.type {
        case .enumeration(let name): return .enumeration(name)
        case .complex, .entity: return .structured
        case .abstract: return .untyped
        case .primitive, .definition: return primitive(behind: type.type)?.family ?? .untyped
        }
    }

    /// How values of the type are kept.
    func kind(of type: TypeReference) -> RowValueType {
        switch family(of: type) {
        case .boolean: .bool
        case .number: primitive(behind: type.type)?.numberKind ?? .decimal
        case .string, .guid, .date, .timeOfDay: .text
        case .dateTimeOffset: .date
        case .duration: .decimal
        case .binary: .data
        case .enumeration: .integer
        case .spatial, .structured, .collection, .untyped: .tree
        }
    }
}

extension PrimitiveType {
    var family: TypeFamily {
        switch self {
        case .boolean: .boolean
        case .byte, .sByte, .int16, .int32, .int64, .decimal, .double, .single: .number
        case .string: .string
        case .guid: .guid
        case .date: .date
        case .timeOfDay: .timeOfDay
        case .dateTimeOffset: .dateTimeOffset
        case .duration: .duration
        case .binary, .stream: .binary
        default: .spatial
        }
    }

    var numberKind: RowValueType {
        switch self {
        case .double, .single: .double
        case .decimal: .decimal
        default: .integer
        }
    }
}
