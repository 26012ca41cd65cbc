//! Runs a program under `ptrace` and stops it at each system call that can change a file system.
//!
//! The caller decides at each stop: proceed, fail the call, kill the process, send a signal, or let the other threads run first. A seccomp
//! filter selects the calls, so that everything else runs at full speed. `strace --inject` does not suffice: it counts the calls of each thread
//! separately, and cannot tell writing a file from reading one or from using a pipe.
#![allow(unsafe_code, reason = "ptrace, prctl, waitpid and kill have no safe form in the standard library")]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use libc::{c_int, c_long, c_void, pid_t};

/// The effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Opens a file for reading.
    OpenRead,
    /// Opens a file for writing, or creates it.
    OpenWrite,
    /// Needs disk space: data, a name, a directory, a link.
    Allocate,
    /// Makes data durable.
    Sync,
    /// Makes names durable. Some file systems cannot.
    SyncFolder,
    /// Frees space or changes a mode.
    Release,
    /// Ends the process.
    Exit,
}

/// The calls at which the program stops.
const CALLS: [(c_long, &str, Kind); 32] = [
    (libc::SYS_open, "open", Kind::OpenRead),
    (libc::SYS_openat, "openat", Kind::OpenRead),
    (libc::SYS_creat, "creat", Kind::OpenWrite),
    (libc::SYS_write, "write", Kind::Allocate),
    (libc::SYS_pwrite64, "pwrite64", Kind::Allocate),
    (libc::SYS_writev, "writev", Kind::Allocate),
    (libc::SYS_pwritev, "pwritev", Kind::Allocate),
    (libc::SYS_pwritev2, "pwritev2", Kind::Allocate),
    (libc::SYS_sendfile, "sendfile", Kind::Allocate),
    (libc::SYS_copy_file_range, "copy_file_range", Kind::Allocate),
    (libc::SYS_fallocate, "fallocate", Kind::Allocate),
    (libc::SYS_mkdir, "mkdir", Kind::Allocate),
    (libc::SYS_mkdirat, "mkdirat", Kind::Allocate),
    (libc::SYS_link, "link", Kind::Allocate),
    (libc::SYS_linkat, "linkat", Kind::Allocate),
    (libc::SYS_symlink, "symlink", Kind::Allocate),
    (libc::SYS_symlinkat, "symlinkat", Kind::Allocate),
    (libc::SYS_rename, "rename", Kind::Allocate),
    (libc::SYS_renameat, "renameat", Kind::Allocate),
    (libc::SYS_renameat2, "renameat2", Kind::Allocate),
    (libc::SYS_fsync, "fsync", Kind::Sync),
    (libc::SYS_fdatasync, "fdatasync", Kind::Sync),
    (libc::SYS_unlink, "unlink", Kind::Release),
    (libc::SYS_unlinkat, "unlinkat", Kind::Release),
    (libc::SYS_rmdir, "rmdir", Kind::Release),
    (libc::SYS_truncate, "truncate", Kind::Release),
    (libc::SYS_ftruncate, "ftruncate", Kind::Release),
    (libc::SYS_chmod, "chmod", Kind::Release),
    (libc::SYS_fchmod, "fchmod", Kind::Release),
    (libc::SYS_fchmodat, "fchmodat", Kind::Release),
    (libc::SYS_fchown, "fchown", Kind::Release),
    (libc::SYS_exit_group, "exit_group", Kind::Exit),
];

/// A system call that is about to happen.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) thread: pid_t,
    pub(super) kind: Kind,
    pub(super) name: &'static str,
    /// The paths or the open file it operates on.
    pub(super) files: Vec<String>,
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mode = if self.kind == Kind::OpenWrite { " for writing" } else { "" };
        write!(f, "{}({}){mode}", self.name, self.files.join(", "))
    }
}

/// What to do with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Proceed,
    /// The call does nothing and returns this error.
    Fail(i32),
    /// The process is killed before the call.
    Kill,
    /// The process gets this signal, then the call proceeds.
    Signal(i32),
    /// The same, and this thread is held for this long.
    SignalAndHold(i32, Duration),
    /// This thread is held for this long.
    Hold(Duration),
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Exit(i32),
    Signal(i32),
    /// It was killed after [`LIMIT`].
    Timeout,
}

/// Time limit of a program.
const LIMIT: Duration = Duration::from_secs(20);

/// Runs the command and calls `decide` at each of [`CALLS`].
///
/// # Errors
/// When the program cannot be started or traced.
pub(super) fn run(command: &mut Command, decide: &mut dyn FnMut(&Call) -> Action) -> Result<Ended, String> {
    let filter = filter();
    let filter = move || {
        let program = libc::sock_fprog {
            len: u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
            filter: filter.as_ptr().cast_mut(),
        };
        // SAFETY: the program and its instructions live through both calls, and the kernel only reads them. TRACEME has no other arguments.
        let done = unsafe {
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec, the closure makes three system calls and allocates nothing.
    let command = unsafe { command.pre_exec(filter) };
    let child = command.spawn().map_err(|error| format!("cannot start {:?}: {error}", command.get_program()))?;
    let process = pid_t::try_from(child.id()).map_err(|error| error.to_string())?;
    let watch = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        let overdue = scope.spawn(|| {
            let (done, changed) = &watch;
            let done = done.lock().unwrap_or_else(PoisonError::into_inner);
            let (done, _) =
                changed.wait_timeout_while(done, LIMIT, |done| !*done).unwrap_or_else(PoisonError::into_inner);
            if !*done {
                send(process, libc::SIGKILL);
            }
            !*done
        });
        let ended = follow(process, decide);
        if ended.is_err() {
            send(process, libc::SIGKILL);
        }
        *watch.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        watch.1.notify_all();
        let overdue = overdue.join().unwrap_or(false);
        ended.map(|ended| if overdue { Ended::Timeout } else { ended })
    })
}

/// A filter that stops the program at [`CALLS`] and lets everything else pass.
fn filter() -> Vec<libc::sock_filter> {
    let instruction = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf,
        k,
    };
    // The number of the call is at offset 0 of `seccomp_data`.
    let mut filter = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for (number, ..) in CALLS {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        filter.push(instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number));
        filter.push(instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_TRACE));
    }
    filter.push(instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    filter
}

/// Traces all threads of the process until it ends.
fn follow(process: pid_t, decide: &mut dyn FnMut(&Call) -> Action) -> Result<Ended, String> {
    let mut waiting: Vec<(pid_t, Instant)> = Vec::new();
    let mut ready = false;
    loop {
        let now = Instant::now();
        waiting.retain(|(thread, until)| {
            let over = *until <= now;
            if over {
                resume(*thread, 0);
            }
            !over
        });
        let Some((thread, status)) = wait(!waiting.is_empty())? else {
            thread::sleep(Duration::from_micros(200));
            continue;
        };
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            waiting.retain(|(waiting, _)| *waiting != thread);
            if thread == process {
                return Ok(if libc::WIFEXITED(status) {
                    Ended::Exit(libc::WEXITSTATUS(status))
                } else {
                    Ended::Signal(libc::WTERMSIG(status))
                });
            }
            continue;
        }
        if !libc::WIFSTOPPED(status) {
            continue;
        }
        let event = status >> 16;
        if event == libc::PTRACE_EVENT_SECCOMP {
            match stopped(process, thread, decide)? {
                Some(until) => waiting.push((thread, until)),
                None => resume(thread, 0),
            }
        } else if !ready {
            // The stop after exec: no call has been made yet.
            ready = true;
            set_options(process)?;
            resume(thread, 0);
        } else {
            let signal = libc::WSTOPSIG(status);
            // Initial stops of new threads, and events, come from the tracer.
            let internal = event != 0 || signal == libc::SIGSTOP || signal == libc::SIGTRAP;
            resume(thread, if internal { 0 } else { signal });
        }
    }
}

/// Carries out the decision about the call at which a thread stopped. Returns the time until which the thread is held.
fn stopped(process: pid_t, thread: pid_t, decide: &mut dyn FnMut(&Call) -> Action) -> Result<Option<Instant>, String> {
    let Some(mut registers) = registers(thread) else { return Ok(None) }; // killed meanwhile
    let Some(call) = describe(process, thread, &registers) else { return Ok(None) };
    match decide(&call) {
        Action::Proceed => {}
        Action::Fail(error) => {
            // The invalid call number -1 skips the call; the result register holds its result.
            registers.orig_rax = u64::MAX;
            registers.rax = i64::from(-error).cast_unsigned();
            // SAFETY: SETREGS reads one structure of registers, which lives here.
            if unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, 0, &raw const registers) } != 0 {
                return Err(format!("cannot fail a call: {}", io::Error::last_os_error()));
            }
        }
        Action::Kill => send(process, libc::SIGKILL),
        Action::Signal(signal) => send(process, signal),
        Action::SignalAndHold(signal, time) => {
            send(process, signal);
            return Ok(Some(Instant::now() + time));
        }
        Action::Hold(time) => return Ok(Some(Instant::now() + time)),
    }
    Ok(None)
}

/// Describes a call; `None` if it does not concern files of the case, but a pipe, a terminal or system files.
fn describe(process: pid_t, thread: pid_t, registers: &libc::user_regs_struct) -> Option<Call> {
    let number = registers.orig_rax.cast_signed();
    let (_, name, mut kind) = *CALLS.iter().find(|(other, ..)| *other == number)?;
    let path = |address: u64| text(thread, address);
    let open_file = |descriptor: u64| {
        let link = fs::read_link(format!("/proc/{process}/fd/{descriptor}")).ok()?;
        Some(link.to_string_lossy().into_owned()).filter(|link| link.starts_with('/') && descriptor > 2)
    };
    let files = match number {
        libc::SYS_open | libc::SYS_openat => {
            let (address, flags) =
                if number == libc::SYS_open { (registers.rdi, registers.rsi) } else { (registers.rsi, registers.rdx) };
            let writing = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
            if flags & u64::from(writing.cast_unsigned()) != 0 {
                kind = Kind::OpenWrite;
            }
            vec![path(address)]
        }
        libc::SYS_renameat | libc::SYS_renameat2 | libc::SYS_linkat => vec![path(registers.rsi), path(registers.r10)],
        libc::SYS_rename | libc::SYS_link | libc::SYS_symlink => vec![path(registers.rdi), path(registers.rsi)],
        libc::SYS_symlinkat => vec![path(registers.rdi), path(registers.rdx)],
        libc::SYS_mkdirat | libc::SYS_unlinkat | libc::SYS_fchmodat => vec![path(registers.rsi)],
        libc::SYS_mkdir
        | libc::SYS_unlink
        | libc::SYS_rmdir
        | libc::SYS_chmod
        | libc::SYS_creat
        | libc::SYS_truncate => vec![path(registers.rdi)],
        libc::SYS_fsync | libc::SYS_fdatasync => {
            if fs::metadata(format!("/proc/{process}/fd/{}", registers.rdi)).is_ok_and(|file| file.is_dir()) {
                kind = Kind::SyncFolder;
            }
            vec![open_file(registers.rdi)?]
        }
        libc::SYS_exit_group => Vec::new(),
        libc::SYS_copy_file_range => vec![open_file(registers.rdx)?],
        _ => vec![open_file(registers.rdi)?],
    };
    const SYSTEM: [&str; 6] = ["/proc/", "/sys/", "/usr/", "/lib", "/etc/", "/dev/null"];
    if files.iter().any(|file| SYSTEM.iter().any(|system| file.starts_with(system))) {
        return None;
    }
    Some(Call { thread, kind, name, files })
}

/// Reads a NUL-terminated string at an address of the program.
fn text(thread: pid_t, address: u64) -> String {
    let mut bytes = [0; 4096];
    let read = File::open(format!("/proc/{thread}/mem")).and_then(|memory| memory.read_at(&mut bytes, address));
    let text = bytes.get(..read.unwrap_or_default()).unwrap_or_default();
    String::from_utf8_lossy(text.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// Waits for the next event of a thread traced by this one.
fn wait(without_blocking: bool) -> Result<Option<(pid_t, c_int)>, String> {
    let mut status: c_int = 0;
    let flags = libc::__WALL | libc::__WNOTHREAD | if without_blocking { libc::WNOHANG } else { 0 };
    loop {
        // SAFETY: the kernel writes one integer, which lives here.
        let thread = unsafe { libc::waitpid(-1, &raw mut status, flags) };
        match thread {
            0 => return Ok(None),
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(format!("cannot wait for a traced program: {error}"));
                }
            }
            _ => return Ok(Some((thread, status))),
        }
    }
}

fn set_options(process: pid_t) -> Result<(), String> {
    let options = libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: SETOPTIONS takes its options as a number; nothing is read or written.
    if unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, process, 0, options) } == 0 {
        return Ok(());
    }
    Err(format!("cannot trace a program: {}", io::Error::last_os_error()))
}

fn registers(thread: pid_t) -> Option<libc::user_regs_struct> {
    let mut registers = std::mem::MaybeUninit::<libc::user_regs_struct>::uninit();
    // SAFETY: GETREGS writes one structure of registers, for which there is room; it is whole when the call succeeds.
    unsafe {
        let address: *mut c_void = registers.as_mut_ptr().cast();
        (libc::ptrace(libc::PTRACE_GETREGS, thread, 0, address) == 0).then(|| registers.assume_init())
    }
}

/// Resumes a stopped thread, if it has not been killed.
fn resume(thread: pid_t, signal: c_int) {
    // SAFETY: CONT takes the signal as a number; nothing is read or written.
    unsafe { libc::ptrace(libc::PTRACE_CONT, thread, 0, signal) };
}

fn send(process: pid_t, signal: c_int) {
    // SAFETY: kill takes two numbers. The process is a child that has not been waited for, so its ID has not been reused.
    unsafe { libc::kill(process, signal) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    /// Creates two directories, with one action at the n-th call; returns the end, the calls, and the number of directories.
    fn trace_mkdir(at: usize, action: Action) -> (Ended, Vec<String>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut calls = Vec::new();
        let mut mkdir = Command::new("mkdir");
        mkdir.args(["one", "two"]).current_dir(&folder).stderr(Stdio::null()).env_remove("LD_LIBRARY_PATH");
        let ended = run(&mut mkdir, &mut |call| {
            calls.push(call.to_string());
            if calls.len() == at { action } else { Action::Proceed }
        });
        (ended.unwrap(), calls, fs::read_dir(&folder).unwrap().count())
    }

    #[test]
    fn observes_fails_and_kills_calls() {
        let (ended, calls, count) = trace_mkdir(0, Action::Proceed);
        assert_eq!((ended, count), (Ended::Exit(0), 2), "{calls:?}");
        assert_eq!(calls, ["mkdir(one)", "mkdir(two)", "exit_group()"]);
        let (ended, calls, count) = trace_mkdir(2, Action::Fail(libc::ENOSPC));
        assert_eq!((ended, count, calls.len()), (Ended::Exit(1), 1, 3));
        assert_eq!(trace_mkdir(2, Action::Kill), (Ended::Signal(libc::SIGKILL), calls[..2].to_vec(), 1));
        assert_eq!(trace_mkdir(1, Action::Kill).2, 0);
        assert_eq!(trace_mkdir(1, Action::Signal(libc::SIGTERM)).0, Ended::Signal(libc::SIGTERM));
        assert_eq!(trace_mkdir(1, Action::Hold(Duration::from_millis(1))), (Ended::Exit(0), calls, 2));
    }
}
