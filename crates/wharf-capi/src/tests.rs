fn _t() {}
