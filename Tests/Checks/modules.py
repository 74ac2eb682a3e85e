"""Which modules a target has declared by its dependencies."""

# Products of other repositories whose module has another name.
_MODULES_OF_PRODUCT = {"GRDB.swift": ["GRDB"]}


class Modules:
    def __init__(self, repository):
        self.repository = repository
        self._own_products = {
            product: targets for package in repository.packages for product, targets in package.products.items()}

    def of_product(self, product):
        return self._own_products.get(product) or _MODULES_OF_PRODUCT.get(product, [product])

    def declared_by(self, target):
        of_products = (module for product in target.products for module in self.of_product(product))
        return {*target.targets, *of_products}

    def ground_of(self, target):
        """What comes with the toolchain and may be imported without a declaration."""
        rooms = self.repository.rooms
        if target.is_test:
            return set(rooms["tests"])
        room = rooms["rooms"].get(target.name, {})
        return set(rooms["ground"]) if room.get("ground", True) else set()
