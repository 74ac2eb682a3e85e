/// `geography'SRID=0;Point(1 2)'` and the other shapes, section 7 of the ABNF: well-known text behind its SRID.
extension Parser {
    enum ShapeKind: String, CaseIterable {
        case collection = "GeometryCollection"
        case lineString = "LineString"
        case multiLineString = "MultiLineString"
        case multiPoint = "MultiPoint"
        case multiPolygon = "MultiPolygon"
        case point = "Point"
        case polygon = "Polygon"

        fileprivate var word: StaticString {
            switch self {
            case .collection: "GeometryCollection"
            case .lineString: "LineString"
            case .multiLineString: "MultiLineString"
            case .multiPoint: "MultiPoint"
            case .multiPolygon: "MultiPolygon"
            case .point: "Point"
            case .polygon: "Polygon"
            }
        }
    }

    mutating func geography(_ kind: ShapeKind? = nil) throws(Mismatch) -> Literal {
        try expect(word: "geography")
        return .geography(try quoted { parser throws(Mismatch) in try parser.shapeWithSRID(kind) })
    }

    mutating func geometry(_ kind: ShapeKind? = nil) throws(Mismatch) -> Literal {
        try expect(word: "geometry")
        return .geometry(try quoted { parser throws(Mismatch) in try parser.shapeWithSRID(kind) })
    }

    /// `fullPointLiteral` and the like
    mutating func shapeWithSRID(_ kind: ShapeKind? = nil) throws(Mismatch) -> SpatialLiteral {
        try expect(word: "SRID")
        try expect("=")
        let srid = Int(try digits(1...5)) ?? 0
        try expect(";")
        return SpatialLiteral(srid: srid, shape: try shape(kind))
    }

    mutating func shape(_ kind: ShapeKind? = nil) throws(Mismatch) -> SpatialLiteral.Shape {
        for candidate in kind.map({ [$0] }) ?? ShapeKind.allCases where skip(word: candidate.word) {
            return try data(of: candidate)
        }
        throw mismatch(kind?.rawValue ?? "a shape")
    }

    private mutating func data(of kind: ShapeKind) throws(Mismatch) -> SpatialLiteral.Shape {
        switch kind {
        case .point: .point(try pointData())
        case .lineString: .lineString(try lineData())
        case .polygon: .polygon(try polygonData())
        case .multiPoint: .multiPoint(try several { parser throws(Mismatch) in try parser.pointData() })
        case .multiLineString: .multiLineString(try several { parser throws(Mismatch) in try parser.lineData() })
        case .multiPolygon: .multiPolygon(try several { parser throws(Mismatch) in try parser.polygonData() })
        case .collection:
            .collection(
                try nested { parser throws(Mismatch) in
                    try parser.several(atLeast: 1) { parser throws(Mismatch) in try parser.shape() }
                })
        }
    }

    /// Items in parentheses, joined by commas.
    private mutating func several<T>(
        atLeast least: Int = 0, _ rule: (inout Parser) throws(Mismatch) -> T
    ) throws(Mismatch) -> [T] {
        try expect("(")
        var items: [T] = []
        if least == 0, skip(")") { return items }
        repeat {
            items.append(try rule(&self))
            try countNode()
        } while skip(",")
        guard items.count >= least else { throw mismatch("`,`") }
        try expect(")")
        return items
    }

    private mutating func pointData() throws(Mismatch) -> SpatialLiteral.Position {
        try expect("(")
        let position = try position()
        try expect(")")
        return position
    }

    private mutating func lineData() throws(Mismatch) -> [SpatialLiteral.Position] {
        try several(atLeast: 2) { parser throws(Mismatch) in try parser.position() }
    }

    private mutating func polygonData() throws(Mismatch) -> [[SpatialLiteral.Position]] {
        try several(atLeast: 1) { parser throws(Mismatch) in
            try parser.several(atLeast: 1) { parser throws(Mismatch) in try parser.position() }
        }
    }

    /// `positionLiteral`: two to four numbers.
    private mutating func position() throws(Mismatch) -> SpatialLiteral.Position {
        var numbers = [try coordinate()]
        repeat {
            try expectSpace()
            numbers.append(try coordinate())
        } while numbers.count < 4 && peek()?.isSpace == true
        return numbers
    }

    private mutating func coordinate() throws(Mismatch) -> Double {
        switch try number() {
        case .number(let digits, _): Double(digits) ?? .nan
        case .infinity(let negative): negative ? -.infinity : .infinity
        default: .nan
        }
    }
}
