"""The cards as data of the wheel; `nclue_core.cards.read_card` reads them."""
