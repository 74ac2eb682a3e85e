import ValueTree

/// Requests by OData's grammar, of ``FuzzedService``: right, half right and damaged. The same seed gives the same ones.
///
/// Every literal text begins with ``marker`` and every larger number with ``numberMarker``, so that a test that makes a
/// statement of a request can be asked whether the literal stands in it.
public struct RequestGenerator: Sendable {
    public static let marker = "qzx"
    public static let numberMarker = "74317"

    private var random: SeededRandom
    private var depth = 0

    public init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// `path?query`, percent-encoded where it must be.
    public mutating func next() -> String {
        let path = one([
            { _ in "Things" }, { _ in "Things" }, { _ in "Things" }, { _ in "Kinds" }, { _ in "Things/F.Rare" },
            { _ in "Things/$count" }, { _ in "Things(74317)" }, { _ in "Kinds(74317)/Things" },
            { "Things/$filter(\($0.condition()))" }, { _ in "Nothing" }, { _ in "$metadata" }, { _ in "$all" },
        ])
        let options = (0..<below(4)).map { _ in option() }.joined(separator: "&")
        return Self.encoded(damaged(options.isEmpty ? path : "\(path)?\(options)"))
    }

    // MARK: Options

    private mutating func option() -> String {
        inside { generator in
            generator.one([
                { "$filter=\($0.condition())" }, { "$filter=\($0.condition())" }, { "$select=\($0.names())" },
                { "$orderby=\($0.number()) desc,\($0.text())" },
                { "$top=\($0.pick(["0", "5", "99999999999999999999"]))" },
                { "$skip=\($0.below(20))" }, { _ in "$count=true" }, { "$search=\($0.search())" },
                { "$compute=\($0.number()) as N" }, { "$apply=\($0.steps())" }, { "$expand=\($0.expansion())" },
            ])
        }
    }

    private mutating func names() -> String {
        (0...below(3)).map { _ in pick(["Name", "Price", "Place/City", "*", "Kind", "Nope", "State"]) }
            .joined(separator: ",")
    }

    private mutating func search() -> String {
        pick(["qzxword", "NOT qzxword", "(qzxa OR qzxb) qzxc", "\"qzx phrase\"", "AND", "\"\""])
    }

    private mutating func expansion() -> String {
        let property = pick(["Kind", "Near", "Things", "*", "Near/$ref", "Near/$count"])
        guard depth < 4, below(2) == 0 else { return property }
        let options = (0...below(2)).map { _ in below(5) == 0 ? "$levels=\(pick(["2", "max", "0"]))" : option() }
        return "\(property)(\(options.joined(separator: ";")))"
    }

    private mutating func steps() -> String {
        (0...below(3)).map { _ in inside { $0.step() } }.joined(separator: "/")
    }

    private mutating func step() -> String {
        one([
            { "filter(\($0.condition()))" },
            { _ in "groupby((KindID),aggregate(Price with sum as S,$count as C))" },
            { "aggregate(\($0.number()) with \($0.pick(["sum", "min", "max", "average", "countdistinct"])) as A)" },
            { _ in "groupby((Kind/Name))" }, { _ in "topcount(2,Price)" }, { _ in "identity" },
            { "compute(\($0.number()) as M)" }, { _ in "orderby(Price desc)/skip(1)/top(2)" },
            { "\($0.pick(["top", "bottom"]))\($0.pick(["sum", "percent", "count"]))(74317,\($0.number()))" },
            { "groupby((\($0.grouping())),\($0.steps()))" }, { "concat(\($0.steps()),\($0.steps()))" },
            { "addnested(\($0.pick(["Near", "Things"])),\($0.steps()) as \($0.pick(["X", "Y"])))" },
            { "join(\($0.pick(["Near", "Things"])) as J,\($0.steps()))" }, { "nest(\($0.steps()) as Z)" },
            {
                "\($0.pick(["ancestors", "descendants"]))(\($0.nodes()),\($0.steps())\($0.pick(["", ",2", ",keep start"])))"
            },
            { "traverse(\($0.nodes()),\($0.pick(["preorder", "postorder"])),\($0.text()) desc)" },
        ])
    }

    private mutating func grouping() -> String {
        one([
            { _ in "KindID" }, { $0.pick(["Name", "State", "ID"]) }, { _ in "rollup(KindID,Name)" },
            { "rolluprecursive(\($0.nodes()))" }, { "rolluprecursive(\($0.nodes()),\($0.steps()))" },
            { "Name,rolluprecursive(\($0.nodes()))" },
        ])
    }

    private mutating func nodes() -> String {
        pick(["$root/Kinds,Tree,KindID", "$root/Kinds,Tree,ID", "$root/Kinds,Tree,Kind/ID", "$root/Things,Net,ID"])
    }

    private mutating func isInTree() -> String {
        let name = pick(["isroot", "isleaf", "isdescendant", "isancestor", "issibling"])
        let other = ["isdescendant": "Ancestor", "isancestor": "Descendant", "issibling": "Other"][name]
        let set = pick(["$root/Kinds,HierarchyQualifier='Tree'", "$root/Things,HierarchyQualifier='Net'"])
        let against = other.map { ",\($0)=\(number())" } ?? ""
        return "Org.OData.Aggregation.V1.\(name)(HierarchyNodes=\(set),Node=\(number())\(against))"
    }

    // MARK: Expressions

    private mutating func condition() -> String {
        inside { generator in
            generator.one([
                { "\($0.text()) \($0.compared()) \($0.text())" }, { "\($0.number()) \($0.compared()) \($0.number())" },
                { "State has F.State'\($0.pick(["New", "New,Sold", "None", "74317"]))'" },
                { "\($0.text()) in ('qzxa',\($0.text()),null)" }, { "Seen \($0.compared()) 2024-02-30T00:00:00Z" },
                { "Seen \($0.compared()) now()" }, { "Takes \($0.compared()) duration'P1DT2H'" },
                { "Made \($0.compared()) 2024-02-29" }, { "Opens \($0.compared()) 09:30" },
                { "Tag \($0.compared()) 00000000-0000-0000-0000-000000074317" },
                { "\($0.pick(["contains", "startswith", "endswith", "matchesPattern"]))(\($0.text()),\($0.text()))" },
                { "(\($0.condition())) \($0.pick(["and", "or"])) \($0.condition())" }, { "not (\($0.condition()))" },
                { "Near/\($0.pick(["any", "all"]))(n:n/Price \($0.compared()) \($0.number()))" },
                { "Marks/any(m:m eq \($0.number()))" }, { _ in "Near/any()" }, { _ in "isof(F.Rare)" },
                { "geo.distance(Where,geography'SRID=4326;Point(1 2)') lt \($0.number())" }, { $0.isInTree() },
            ])
        }
    }

    private mutating func text() -> String {
        inside { generator in
            generator.one([
                { $0.pick(["Name", "Text", "Kind/Name", "Place/City", "F.Rare/Why", "null"]) },
                { $0.pick(["'qzx'", "'qzx''s %_'", "'qzx\u{e9}\u{1F600}'", "'qzx; DROP TABLE x--'"]) },
                { "concat(\($0.text()),\($0.text()))" }, { "\($0.pick(["tolower", "toupper", "trim"]))(\($0.text()))" },
                { "substring(\($0.text()),\($0.number()))" }, { "cast(\($0.number()),Edm.String)" },
            ])
        }
    }

    private mutating func number() -> String {
        inside { generator in
            generator.one([
                { $0.pick(["Price", "Weight", "Count", "ID", "Place/Zip", "Near/$count", "null"]) },
                { $0.pick(["74317", "-74317", "74317.5", "74317e3", "743170000000000000000", "INF"]) },
                { "(\($0.number()) \($0.pick(["add", "sub", "mul", "div", "divby", "mod"])) \($0.number()))" },
                { "length(\($0.text()))" }, { "\($0.pick(["round", "floor", "ceiling", "-"]))(\($0.number()))" },
                { "indexof(\($0.text()),\($0.text()))" }, { "\($0.pick(["year", "hour", "second"]))(Seen)" },
                { "case(\($0.condition()):\($0.number()),true:74317)" },
            ])
        }
    }

    private mutating func compared() -> String { pick(["eq", "ne", "lt", "le", "gt", "ge"]) }
}

// MARK: Chance

extension RequestGenerator {
    fileprivate typealias Rule = (inout RequestGenerator) -> String

    fileprivate mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

    fileprivate mutating func pick(_ texts: [String]) -> String { texts[below(texts.count)] }

    /// Deep inside only the first two of the rules, which have none within.
    fileprivate mutating func one(_ rules: [Rule]) -> String {
        rules[below(depth > 5 ? min(2, rules.count) : rules.count)](&self)
    }

    fileprivate mutating func inside(_ body: (inout RequestGenerator) -> String) -> String {
        depth += 1
        defer { depth -= 1 }
        return body(&self)
    }

    /// Three of ten with a part of it gone or another put in.
    fileprivate mutating func damaged(_ text: String) -> String {
        guard below(10) < 3 else { return text }
        var scalars = Array(text.unicodeScalars)
        let place = below(scalars.count)
        scalars.removeSubrange(place..<min(scalars.count, place + below(3)))
        scalars.insert(
            contentsOf: pick(["", "'", "(", ")", "%", "/", "$", ",", ";", "0", "\u{fc}"]).unicodeScalars, at: place)
        var result = String.UnicodeScalarView()
        result.append(contentsOf: scalars)
        return String(result)
    }

    fileprivate static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return text.utf8.map { byte in
            let isPlain = byte > 0x20 && byte < 0x7F && !"+^{}\"<>|\\`[]".utf8.contains(byte)
            return isPlain
                ? String(Unicode.Scalar(byte)) : "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }.joined()
    }
}
