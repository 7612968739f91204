//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/objectstore/storetest"
	"github.com/iconedge/iconedge/test/harness"
)

// processPhases returns the phases in which a process, a store or a disk fails.
func processPhases() []*phase {
	failed := []int{bad, busy, late}
	return []*phase{
		{name: "mirror full", what: "a release is published that is too large for the mirror's disk",
			setup: originOnFullDisk, begin: releaseTooLarge, after: checkNewRelease, harmless: true, direct: true, only: true},
		{name: "origin killed", what: "kill -9 of the origin under load, and a restart", setup: ownOrigin,
			begin: originKilled, cold: failed, direct: true, only: true},
		{name: "origin stopped", what: "SIGSTOP: the kernel accepts its connections, the process does nothing; then SIGCONT",
			setup: ownOrigin, begin: originStopped, cold: failed, direct: true, only: true, hangs: true},
		{name: "one of two origins dies", what: "the other answers for both", setup: secondOrigin, begin: cutWire,
			harmless: true, only: true},
		{name: "edge killed", what: "kill -9 of the edge under load, and a restart with its disk tier",
			setup: edgeWithDisk, begin: edgeKilled, after: checkDisk, loses: true, harmless: true, only: true},
		{name: "edge out of descriptors", what: "more idle connections than the edge may have open",
			setup: fewDescriptors, begin: descriptorsTaken, cold: failed, harmless: true, only: true, loses: true},
		{name: "damaged disk tier", what: "kill -9, damage to every file of the disk tier, and a restart",
			setup: edgeWithDisk, begin: diskDamaged, loses: true, harmless: true, only: true},
		{name: "disk tier full", what: "the file system of --cache-dir is full", setup: edgeOnFullDisk,
			begin: fillDisk, harmless: true, only: true},
		{name: "store gone", what: "the store's folder is removed under a running origin, which then restarts from its mirror",
			setup: ownStore, begin: withoutStore(removeFolder), harmless: true, direct: true, only: true, cold: failed},
		{name: "S3 store gone", what: "the same with an S3 service that refuses connections",
			setup: s3Store, begin: withoutStore(cutService), harmless: true, direct: true, only: true, cold: failed},
		{name: "damaged mirror", what: "kill -9 of the origin, a changed byte in each archive of its mirror, and a restart",
			setup: ownOrigin, begin: mirrorDamaged, cold: failed, harmless: true, direct: true, only: true},
		{name: "release switched", what: "a new release of every icon under load: the old or the new SVG, never a " +
			"mixture, then only the new one", setup: ownStore, begin: releaseSwitched, after: checkNewRelease,
			harmless: true, direct: true, only: true},
	}
}

// allStale is the Cache-Control of an origin that is used without a wire: every icon becomes stale
// after a second.
const allStale = "public, max-age=1, stale-while-revalidate=600, stale-if-error=600"

// An ownServer is a process that a phase kills and restarts with the same address.
type ownServer struct {
	s    *scene
	args []string
	now  *harness.Server
}

// startOwn starts a process on a port that it takes again after a restart.
func startOwn(s *scene, args ...string) *ownServer {
	o := &ownServer{s: s, args: append(args, "--listen", harness.FreeAddress(s.t), "--admin-listen", "127.0.0.1:0")}
	o.begin()
	return o
}

func (o *ownServer) begin() { o.now = harness.Start(o.s.t, o.s.world.home, o.args...).Ready() }

func (o *ownServer) kill() {
	o.now.Cmd.Process.Kill()
	<-o.now.Done
}

func (o *ownServer) address() string { return o.now.Address("public") }

// ownOrigin starts an origin of the scene's own over the world's store, and ownStore one over a
// copy of the store.
func ownOrigin(s *scene) { s.originOver(s.world.store, filepath.Join(s.t.TempDir(), "mirror")) }

func ownStore(s *scene) {
	s.store = filepath.Join(s.t.TempDir(), "store")
	if err := os.CopyFS(s.store, os.DirFS(strings.TrimPrefix(s.world.store, "dir:"))); err != nil {
		s.t.Fatal(err)
	}
	s.originOver("dir:"+s.store, filepath.Join(s.t.TempDir(), "mirror"))
}

func (s *scene) originOver(store, mirror string) {
	s.mirror = mirror
	s.own = startOwn(s, "origin", "--store", store, "--mirror", mirror, "--cache-control", allStale)
	s.origin = s.own.address()
}

func originKilled(s *scene) func() {
	s.own.kill()
	return s.own.begin
}

func originStopped(s *scene) func() {
	s.own.now.Cmd.Process.Signal(syscall.SIGSTOP)
	return func() { s.own.now.Cmd.Process.Signal(syscall.SIGCONT) }
}

// secondOrigin adds a second wire to an origin.
func secondOrigin(s *scene) { s.origin += ",http://" + newWire(s.t, s.world.origin).address }

// edgeWithDisk starts an edge that the phase kills, with little memory and a disk tier.
func edgeWithDisk(s *scene) {
	s.disk = filepath.Join(s.t.TempDir(), "cache")
	s.args = []string{"--cache-dir", s.disk, "--cache-bytes", "1048576", "--listen", harness.FreeAddress(s.t)}
}

// restartEdge kills the edge, calls between, and restarts the edge.
func restartEdge(s *scene, between func()) func() {
	s.edge.Cmd.Process.Kill()
	<-s.edge.Done
	between()
	wait(300 * time.Millisecond)
	startEdge(s)
	return func() {}
}

func edgeKilled(s *scene) func() { return restartEdge(s, func() {}) }

// checkDisk checks that an edge that is killed once more answers from its disk without an origin.
func checkDisk(s *scene) {
	l := newLoad(s)
	defer l.drain()
	s.eventually("the disk tier has entries that memory has no room for", func() bool {
		for i := range 600 {
			l.ask(ofCold, pathOf("cold", i))
		}
		// a slow disk does not store every entry
		return harness.Sum(s.edge.Metrics(s.t), "iconedge_edge_cache_disk_entries ") >= 200
	})
	s.wire.setFault(status(500))
	restartEdge(s, func() {})
	found := 0
	for i := range 600 {
		a := l.ask(ofCold, pathOf("cold", i))
		if a.right {
			found++
		}
		if a.status == http.StatusOK && !a.right {
			s.load.tally.add(a)
		}
	}
	s.wire.setFault(nil)
	if found < 100 {
		s.fault("a killed edge finds %d of 600 icons in its disk tier", found)
	}
}

func diskDamaged(s *scene) func() {
	l := newLoad(s)
	for i := range 600 {
		l.ask(ofCold, pathOf("cold", i))
	}
	l.drain()
	return restartEdge(s, func() { damage(s, s.disk, 997) })
}

// damage changes every so many bytes of each file below a folder.
func damage(s *scene, folder string, every int) {
	files := 0
	err := filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() || info.Size() < 1024 {
			return err
		}
		text, err := os.ReadFile(path)
		for i := every / 2; i < len(text); i += every {
			text[i] ^= 0x55
		}
		files++
		if err == nil {
			err = os.WriteFile(path, text, info.Mode())
		}
		return err
	})
	if err != nil || files == 0 {
		s.fault("damaging %s: %d files, %v", folder, files, err)
	}
}

// smallDisk mounts a file system of a number of KiB, and returns its folder.
func (s *scene) smallDisk(kib int) string {
	dir := filepath.Join(s.t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		s.t.Skipf("SKIPPED: mounting a small file system: %v", err)
	}
	s.t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func edgeOnFullDisk(s *scene) {
	s.args = []string{"--cache-dir", filepath.Join(s.smallDisk(256), "cache"), "--cache-bytes", "1048576", "--listen",
		harness.FreeAddress(s.t)}
}

// fillDisk overflows the disk tier of a fault that begins with the setup.
func fillDisk(s *scene) func() {
	l := newLoad(s)
	defer l.drain()
	for i := range 600 { // memory overflows to the disk, which is full
		if a := l.ask(ofCold, pathOf("cold", i)); !a.right {
			s.load.tally.add(a)
		}
	}
	return func() {}
}

// fewDescriptors limits the edge to few connections.
func fewDescriptors(s *scene) { s.descriptors = 160 }

// limited returns a command that may open only so many files.
func limited(cmd *exec.Cmd, descriptors int) *exec.Cmd {
	cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, descriptors), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return cmd
}

// descriptorsTaken opens more connections than the edge has descriptors for, and sends nothing on
// them.
func descriptorsTaken(s *scene) func() {
	var idle []net.Conn
	for range 2 * s.descriptors {
		if c, err := net.DialTimeout("tcp", s.address, 100*time.Millisecond); err == nil {
			idle = append(idle, c)
		}
	}
	return func() {
		for _, c := range idle {
			c.Close()
		}
	}
}

// withoutStore takes the store away, and then its origin.
func withoutStore(away func(s *scene) (back func())) func(s *scene) func() {
	return func(s *scene) func() {
		back := away(s)
		wait(s.minimumTime() / 2) // the origin polls
		l := newLoad(s)
		defer l.drain()
		for range 20 {
			if a := l.ask(ofCold, s.coldPath()); !a.right {
				s.fault("without the store an uncached path is %d %v", a.status, a.err)
			}
		}
		s.own.kill()
		s.own.begin()
		return back
	}
}

func removeFolder(s *scene) func() {
	if err := os.Rename(s.store, s.store+".away"); err != nil {
		s.t.Fatal(err)
	}
	return func() { os.Rename(s.store+".away", s.store) }
}

// s3Store publishes to an S3 service, and starts an origin that reaches it through a wire of its
// own.
func s3Store(s *scene) {
	address := storetest.S3(s.t)
	harness.Must(s.t, s.world.home, "publish", "--store", address, s.world.sources)
	endpoint := regexp.MustCompile(`endpoint=([^&]+)`).FindStringSubmatch(address)[1]
	s.toStore = newWire(s.t, endpoint)
	s.originOver(strings.Replace(address, endpoint, s.toStore.address, 1), filepath.Join(s.t.TempDir(), "mirror"))
}

func cutService(s *scene) func() {
	s.toStore.cut()
	return s.toStore.listen
}

func mirrorDamaged(s *scene) func() {
	s.own.kill()
	damage(s, s.mirror, 4099)
	s.own.begin()
	return func() {}
}

func originOnFullDisk(s *scene) {
	ownStore(s)
	s.own.kill()
	mirror := s.smallDisk(4096)
	s.originOver("dir:"+s.store, filepath.Join(mirror, "mirror"))
}

// releaseTooLarge publishes a release that is too large for the mirror: the origin keeps its
// release until there is room.
func releaseTooLarge(s *scene) func() {
	dir := filepath.Join(s.t.TempDir(), "sources")
	writeLibrary(s.t, dir, "9v9z")
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range 40 { // bodies that do not compress well
		var path strings.Builder
		for range 20_000 {
			fmt.Fprintf(&path, "h%dv%d", noise.IntN(1e6), noise.IntN(1e6))
		}
		writeSVG(s.t, filepath.Join(dir, "cold"), fmt.Sprintf("noise%d", i), path.String())
	}
	after := s.published(dir)
	harness.Must(s.t, s.world.home, "publish", "--store", "dir:"+s.store, dir)
	return func() {
		s.truths.Store(&[]*truth{s.world.truth, after})
		if err := syscall.Mount("tmpfs", filepath.Dir(s.mirror), "tmpfs", syscall.MS_REMOUNT, "size=65536k"); err != nil {
			s.t.Error(err)
		}
	}
}

// releaseSwitched publishes another SVG under each name.
func releaseSwitched(s *scene) func() {
	dir := filepath.Join(s.t.TempDir(), "sources")
	writeLibrary(s.t, dir, "9v9z")
	s.truths.Store(&[]*truth{s.world.truth, s.published(dir)})
	harness.Must(s.t, s.world.home, "publish", "--store", "dir:"+s.store, dir)
	return func() {}
}

// published returns the truth of a release before it is published to the scene's origin.
func (s *scene) published(sources string) *truth {
	store := "dir:" + filepath.Join(s.t.TempDir(), "beside")
	harness.Must(s.t, s.world.home, "publish", "--store", store, sources)
	return newTruth(s.world.start(s.t, store, filepath.Join(s.t.TempDir(), "mirror")).Address("public"))
}

// checkNewRelease checks that after the time that the switch of a release may take, every response
// is of the new release.
func checkNewRelease(s *scene) {
	both := *s.truths.Load()
	l := newLoad(s)
	defer l.drain()
	s.truths.Store(&[]*truth{both[1]})
	for _, path := range s.warmPaths() {
		harness.Eventually(s.t, "the new release is served", func() bool { return l.ask(ofWarm, path).right })
	}
	for _, path := range s.warmPaths() {
		if a := l.ask(ofWarm, path); !a.right {
			s.fault("%s is not of the new release: %d %v", path, a.status, a.err)
		}
	}
}
