from case import SabotageCase


class UndamagedFixture(SabotageCase):
    def test_passes_every_check(self):
        self.assertEqual((0, []), self.fixture.violations())
