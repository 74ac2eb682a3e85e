import AdapterKit

/// `Edm.Date`, `Edm.TimeOfDay` and `Edm.DateTimeOffset` in their canonical texts, which sort as the values do.
public enum CalendarText {
    /// `YYYY-MM-DD` of a day that there is, in the years 0000 to 9999.
    public static func date(_ text: String) -> String? {
        guard text.utf8.count == 10, WireDate(rfc3339: "\(text)T00:00:00Z") != nil else { return nil }
        return text
    }

    /// `hh:mm[:ss[.f]]` as `hh:mm:ss[.f]`, without zeros at the fraction's end.
    public static func timeOfDay(_ text: String) -> String? {
        let whole = text.utf8.count == 5 ? "\(text):00" : text
        guard whole.utf8.count >= 8, WireDate(rfc3339: "2001-01-01T\(whole)Z") != nil else { return nil }
        guard whole.contains(".") else { return whole }
        var trimmed = whole[...]
        while trimmed.last == "0" { trimmed.removeLast() }
        return String(trimmed.last == "." ? trimmed.dropLast() : trimmed)
    }

    /// Seconds may be left out; an offset may not.
    public static func instant(_ text: String) -> WireDate? {
        if let instant = WireDate(rfc3339: text) { return instant }
        guard text.utf8.count >= 17 else { return nil }
        let place = text.utf8.index(text.startIndex, offsetBy: 16)
        return WireDate(rfc3339: "\(text[..<place]):00\(text[place...])")
    }
}
