import Foundation
import ValueTree

extension WireDate {
    /// The instant that the date's double names, with as few digits as tell it apart.
    public init(_ date: Date) {
        self.init(secondsSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    }

    /// The nearest `Date`, to show and to compute with. It is a double, which tells instants of this year 119 nanoseconds
    /// apart: a record keeps the ``ValueTree/WireDate`` that it has, so that nothing is lost where another field is edited.
    public var date: Date { Date(timeIntervalSinceReferenceDate: secondsSinceReferenceDate) }
}
