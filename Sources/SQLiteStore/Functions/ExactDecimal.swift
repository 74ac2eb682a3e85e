import AdapterKit
import RecordStorage

/// A decimal number to compute with: `(-1)^isNegative × digits × 10^exponent`, without zeros at either end.
struct ExactDecimal: Equatable {
    private(set) var isNegative: Bool
    /// Values from 0 to 9, the most significant first; none for zero.
    private(set) var digits: [UInt8]
    private(set) var exponent: Int

    /// Results with more digits are null, so that hostile exponents cost no memory and hostile quotients no time.
    static let maximumDigits = 1024

    /// Nil for what is too long, or beyond the exponents that ``WireDecimal`` takes.
    var withinLimits: ExactDecimal? {
        // Cannot trap: exponents are far from the ends of 64 bits.
        digits.count <= Self.maximumDigits && abs(exponent) + digits.count <= WireDecimal.maximumExponent ? self : nil
    }

    static let zero = ExactDecimal(isNegative: false, digits: [], exponent: 0)

    init(isNegative: Bool, digits: [UInt8], exponent: Int) {
        let first = digits.firstIndex { $0 != 0 } ?? digits.endIndex
        let end = digits.lastIndex { $0 != 0 }.map { $0 + 1 } ?? first
        self.digits = Array(digits[first..<end])
        self.isNegative = isNegative && first < end
        self.exponent = first < end ? exponent + digits.count - end : 0
    }

    init(_ number: WireDecimal) {
        self.init(
            isNegative: number.isNegative, digits: number.digits.utf8.map { $0 - UInt8(ascii: "0") },
            exponent: number.exponent)
    }

    /// Nil for a double that is no number.
    init?(_ number: Double) {
        guard number.isFinite, let decimal = WireDecimal(number.description) else { return nil }
        self.init(decimal)
    }

    init(_ number: Int64) { self.init(WireDecimal(number)) }

    /// Reads ``DecimalSortKey``.
    init?(key: [UInt8]) {
        if key == [1] {
            self = .zero
            return
        }
        guard key.count > 6, key[0] == 0 || key[0] == 2 else { return nil }
        let flip: UInt8 = key[0] == 0 ? 0xFF : 0
        let biased = key[1..<5].reduce(UInt32(0)) { $0 << 8 | UInt32($1 ^ flip) }
        let point = Int(Int32(bitPattern: biased &- 1 << 31))
        let digits = key[5..<(key.count - 1)].map { ($0 ^ flip) &- 1 }
        self.init(isNegative: key[0] == 0, digits: digits, exponent: point - digits.count)
    }

    var key: [UInt8] { DecimalSortKey.bytes(of: wire) }

    /// Plain digits where that is short.
    var wire: WireDecimal {
        guard !digits.isEmpty else { return WireDecimal(Int64(0)) }
        let padding = exponent > 0 && exponent <= 40 ? exponent : 0
        let text = (isNegative ? "-" : "") + String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
        let zeros = String(repeating: "0", count: padding)
        return WireDecimal("\(text)\(zeros)e\(exponent - padding)") ?? WireDecimal(Int64(0))
    }

    var double: Double { Double(wire.description) ?? .nan }

    /// Nil beyond 64 bits. What is behind the point is cut off.
    var integer: Int64? { rounded(.towardZero).wire.narrowed?.int64Value }
}

// School arithmetic on digits. Results beyond ``ExactDecimal/maximumDigits`` are nil.
extension ExactDecimal {
    static prefix func - (number: ExactDecimal) -> ExactDecimal {
        ExactDecimal(isNegative: !number.isNegative, digits: number.digits, exponent: number.exponent)
    }

    static func + (left: ExactDecimal, right: ExactDecimal) -> ExactDecimal? {
        if left.digits.isEmpty { return right }
        if right.digits.isEmpty { return left }
        let exponent = min(left.exponent, right.exponent)
        guard let a = left.digits(downTo: exponent), let b = right.digits(downTo: exponent) else { return nil }
        if left.isNegative == right.isNegative {
            return ExactDecimal(isNegative: left.isNegative, digits: Digits.sum(a, b), exponent: exponent)
        }
        let isLess = Digits.isLess(a, b)
        let difference = isLess ? Digits.difference(b, a) : Digits.difference(a, b)
        return ExactDecimal(isNegative: isLess != left.isNegative, digits: difference, exponent: exponent)
    }

    static func - (left: ExactDecimal, right: ExactDecimal) -> ExactDecimal? { left + -right }

    static func * (left: ExactDecimal, right: ExactDecimal) -> ExactDecimal? {
        guard left.digits.count + right.digits.count <= maximumDigits else { return nil }
        return ExactDecimal(
            isNegative: left.isNegative != right.isNegative, digits: Digits.product(left.digits, right.digits),
            exponent: left.exponent + right.exponent
        ).withinLimits
    }

    /// With at most so many significant digits, the last one rounded half away from zero. Nil for a division by zero.
    static func quotient(_ left: ExactDecimal, _ right: ExactDecimal, digits: Int) -> ExactDecimal? {
        guard !right.digits.isEmpty, right.digits.count <= maximumDigits else { return nil }
        guard !left.digits.isEmpty else { return .zero }
        let padding = max(0, digits + 1 + right.digits.count - left.digits.count)
        let dividend = left.digits + [UInt8](repeating: 0, count: padding)
        let (quotient, remainder) = Digits.divided(dividend, by: right.digits)
        // A mark for what is left, so that half is not taken for less than half.
        let marked = quotient + [remainder.contains { $0 != 0 } ? 1 : 0]
        return ExactDecimal(
            isNegative: left.isNegative != right.isNegative, digits: marked,
            exponent: left.exponent - padding - right.exponent - 1
        ).rounded(toDigits: digits).withinLimits
    }

    /// The remainder of the division towards zero, with the dividend's sign.
    static func remainder(_ left: ExactDecimal, _ right: ExactDecimal) -> ExactDecimal? {
        guard !right.digits.isEmpty else { return nil }
        let exponent = min(left.exponent, right.exponent)
        guard let a = left.digits(downTo: exponent), let b = right.digits(downTo: exponent) else { return nil }
        return ExactDecimal(
            isNegative: left.isNegative, digits: Digits.divided(a, by: b).remainder, exponent: exponent)
    }

    /// The digits with zeros behind them, as if the exponent was that smaller one.
    private func digits(downTo exponent: Int) -> [UInt8]? {
        let zeros = self.exponent - exponent
        guard digits.count + zeros <= Self.maximumDigits else { return nil }
        return digits + [UInt8](repeating: 0, count: zeros)
    }
}

extension ExactDecimal {
    enum Rounding { case towardZero, halfAwayFromZero, up, down }

    /// To a whole number.
    func rounded(_ rounding: Rounding) -> ExactDecimal { rounded(rounding, behind: -exponent) }

    func rounded(toDigits count: Int) -> ExactDecimal { rounded(.halfAwayFromZero, behind: digits.count - count) }

    /// Without the last `count` digits.
    private func rounded(_ rounding: Rounding, behind count: Int) -> ExactDecimal {
        guard count > 0 else { return self }
        let kept = digits.dropLast(min(count, digits.count))
        let first = count <= digits.count ? digits[digits.count - count] : 0
        let isAway =
            switch rounding {
            case .towardZero: false
            case .halfAwayFromZero: first >= 5
            case .up: !isNegative
            case .down: isNegative
            }
        // Digits have no zeros at their end, so whatever is cut off is not nothing.
        let magnitude = isAway ? Digits.sum(Array(kept), [1]) : Array(kept)
        return ExactDecimal(isNegative: isNegative, digits: magnitude, exponent: exponent + count)
    }
}

/// Magnitudes, the most significant digit first.
private enum Digits {
    static func sum(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        let count = max(a.count, b.count) + 1
        var result = [UInt8](repeating: 0, count: count)
        var carry: UInt8 = 0
        for place in 1...count {
            let total = digit(a, place) + digit(b, place) + carry
            carry = total >= 10 ? 1 : 0
            result[count - place] = total - 10 * carry
        }
        return result
    }

    /// The larger one first.
    static func difference(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        var result = a
        var borrow: UInt8 = 0
        for place in stride(from: 1, through: a.count, by: 1) {
            let (minuend, subtrahend) = (digit(a, place), digit(b, place) + borrow)
            borrow = minuend < subtrahend ? 1 : 0
            result[a.count - place] = minuend + 10 * borrow - subtrahend
        }
        return result
    }

    static func isLess(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        for place in stride(from: max(a.count, b.count), to: 0, by: -1) where digit(a, place) != digit(b, place) {
            return digit(a, place) < digit(b, place)
        }
        return false
    }

    static func product(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        var result = [Int](repeating: 0, count: a.count + b.count)
        for (i, x) in a.enumerated() {
            for (j, y) in b.enumerated() { result[i + j + 1] += Int(x) * Int(y) }
        }
        for place in stride(from: result.count - 1, to: 0, by: -1) {
            result[place - 1] += result[place] / 10
            result[place] %= 10
        }
        // Cannot trap: digits below ten.
        return result.map { UInt8($0) }
    }

    static func divided(_ dividend: [UInt8], by divisor: [UInt8]) -> (quotient: [UInt8], remainder: [UInt8]) {
        var quotient: [UInt8] = []
        var rest: [UInt8] = []
        for next in dividend {
            rest.append(next)
            if rest.first == 0 { rest.removeFirst() }
            var count: UInt8 = 0
            while !isLess(rest, divisor) {
                rest = Array(difference(rest, divisor).drop { $0 == 0 })
                count += 1
            }
            quotient.append(count)
        }
        return (quotient, rest)
    }

    /// From the right, the first being 1.
    private static func digit(_ digits: [UInt8], _ place: Int) -> UInt8 {
        place <= digits.count ? digits[digits.count - place] : 0
    }
}
