/// A way to one related entity, or to a complex value: its properties are properties of it.
@dynamicMemberLookup
public struct ODataLink<Target: ODataStructure>: ODataSelectable, ODataExpandable, Sendable {
    let path: ODataPath

    public init(_ path: ODataPath, _ name: String) { self.path = path.appending(name) }

    public subscript<Member>(dynamicMember member: KeyPath<Target.Fields, Member>) -> Member {
        Target.Fields(path)[keyPath: member]
    }

    public var selection: ODataPath { path }
    public var isNull: ODataCondition { ODataCondition(.path(path), .eq, .literal(.null)) }
}

/// A way to several related entities, or complex values.
public struct ODataLinks<Target: ODataStructure>: ODataSelectable, ODataExpandable, Sendable {
    let path: ODataPath

    public init(_ path: ODataPath, _ name: String) { self.path = path.appending(name) }

    public var selection: ODataPath { path }
    public var count: ODataTerm<Int64> { ODataTerm(.count(path)) }
    public var isEmpty: ODataCondition { count == 0 }

    /// Whether the condition holds for one of them.
    public func any(_ condition: (Target.Fields) -> ODataCondition) -> ODataCondition { lambda(.any, condition) }

    /// Whether it holds for each of them; where there are none, it does.
    public func all(_ condition: (Target.Fields) -> ODataCondition) -> ODataCondition { lambda(.all, condition) }

    private func lambda(
        _ quantifier: ODataExpression.Quantifier, _ condition: (Target.Fields) -> ODataCondition
    ) -> ODataCondition {
        let variable = ODataVariable()
        let body = condition(Target.Fields(ODataPath(variable: variable))).expression
        return ODataCondition(.lambda(quantifier, of: path, variable: variable, body: body))
    }
}

/// A collection of primitive values.
public struct ODataFieldList<Value: ODataPrimitive>: ODataSelectable, Sendable {
    let path: ODataPath

    public init(_ path: ODataPath, _ name: String) { self.path = path.appending(name) }

    public var selection: ODataPath { path }
    public var count: ODataTerm<Int64> { ODataTerm(.count(path)) }

    public func contains(_ value: Value) -> ODataCondition {
        let variable = ODataVariable()
        let item = ODataExpression.path(ODataPath(variable: variable))
        return ODataCondition(
            .lambda(.any, of: path, variable: variable, body: .binary(.eq, item, .literal(value.literal))))
    }
}

/// What can be expanded.
public protocol ODataExpandable<Target> {
    associatedtype Target: ODataStructure
    var selection: ODataPath { get }
}
