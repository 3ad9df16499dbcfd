//! What a statement without rows did.

use std::fmt;

/// What a statement without rows did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Executed {
    /// What kind of statement it was.
    pub op_type: OpType,
    /// Rows that it changed, `None` where the server does not know, which is not 0.
    ///
    /// Right for INSERT, for INSERT AS SELECT, and for UPDATE of a table without WAL. **An UPDATE of a
    /// WAL table tells some other number here, no count of rows**: the server applies it later. 0 for
    /// CREATE, ALTER and DROP.
    pub rows_affected: Option<u64>,
}

/// The kind of a statement, as the server numbers it. The list is open: a newer server may send
/// numbers without a name here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpType(u8);

/// Each kind once: its constant, its number, its name.
macro_rules! op_types {
    ($($name:ident = $code:literal),+ $(,)?) => {
        impl OpType {
            $(
                #[doc = concat!("`", stringify!($name), "`, number ", $code, ".")]
                pub const $name: OpType = OpType($code);
            )+

            fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($name)),)+
                    _ => None,
                }
            }
        }
    };
}

op_types! {
    NONE = 0, SELECT = 1, INSERT = 2, TRUNCATE = 3, ALTER = 4, REPAIR = 5, SET = 6, DROP = 7,
    PSEUDO_SELECT = 8, CREATE_TABLE = 9, INSERT_AS_SELECT = 10, COPY_REMOTE = 11, RENAME_TABLE = 12,
    BACKUP_DATABASE = 13, UPDATE = 14, VACUUM = 17, BEGIN = 18, COMMIT = 19, ROLLBACK = 20,
    CREATE_TABLE_AS_SELECT = 21, CHECKPOINT_CREATE = 22, CHECKPOINT_RELEASE = 23, DEALLOCATE = 24,
    EXPLAIN = 25, TABLE_RESUME = 26, TABLE_SET_TYPE = 27, CREATE_USER = 28, ALTER_USER = 29,
    CANCEL_QUERY = 30, TABLE_SUSPEND = 31, CREATE_MAT_VIEW = 32, REFRESH_MAT_VIEW = 33,
    CREATE_VIEW = 34, COMPILE_VIEW = 35, ALTER_VIEW = 36, TABLE_REBASE = 38, EMPTY = 39,
}

impl OpType {
    pub(super) const fn from_wire(code: u8) -> OpType {
        OpType(code)
    }

    /// The number.
    pub const fn code(self) -> u8 {
        self.0
    }
}

impl fmt::Display for OpType {
    /// The name with blanks, such as `CREATE TABLE`; an unknown number as such.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(&name.replace('_', " ")),
            None => write!(f, "operation {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qry_06_kinds_have_names_and_unknown_numbers_are_shown_as_such() {
        assert_eq!(OpType::from_wire(2), OpType::INSERT);
        assert_eq!(OpType::INSERT.to_string(), "INSERT");
        assert_eq!(OpType::from_wire(21).to_string(), "CREATE TABLE AS SELECT");
        for unnamed in [15, 16, 37, 40, 255] {
            assert_eq!(OpType::from_wire(unnamed).to_string(), format!("operation {unnamed}"));
            assert_eq!(OpType::from_wire(unnamed).code(), unnamed);
        }
    }
}
