// Communicators: threads of this process, and whatever a Python class makes one of.
#include "dist/comm.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "dist/all_reduce.h"
#include "dist/local_comm.h"
#include "gil.h"
#include "kernels/threads/thread_count.h"
#include "program/kernel_types.h"

namespace amp::python {
namespace {

using dist::Comm;
using dist::Exchange;
using dist::Transfer;

py::memoryview ReadableView(std::span<const std::byte> bytes) {
  return py::memoryview::from_memory(static_cast<const void*>(bytes.data()), static_cast<py::ssize_t>(bytes.size()));
}
py::memoryview WritableView(std::span<std::byte> bytes) {
  return py::memoryview::from_memory(static_cast<void*>(bytes.data()), static_cast<py::ssize_t>(bytes.size()));
}

// Runs `work` with the GIL on a thread that may not have it. What Python raises is thrown.
template <class Work>
auto InPython(Work work) {
  const py::gil_scoped_acquire gil;
  return work();
}

// An object with a method `wait`.
class PythonTransfer : public Transfer {
 public:
  explicit PythonTransfer(py::object object) : object_(KeepAlive(std::move(object))) {}
  void Wait() override {
    InPython([this] { Object().attr("wait")(); });
  }
  ~PythonTransfer() override {
    if (!InterpreterEnds()) InPython([this] { Cancel(); });
  }

 private:
  py::handle Object() const { return static_cast<PyObject*>(const_cast<void*>(object_.get())); }
  void Cancel() {
    try {
      Object().attr("cancel")();
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("the end of a transfer");
    }
  }

  const std::shared_ptr<const void> object_;
};

// The memory of the object, which the Python half lives as long as.
std::shared_ptr<Comm> CommOf(const py::object& object) {
  return {std::const_pointer_cast<void>(KeepAlive(object)), object.cast<Comm*>()};
}

// A communicator that a Python class implements: start(send, to, recv, source) -> an object with wait() and cancel();
// barrier(); duplicate(). `send` and `recv` are memoryviews of bytes.
class PythonComm : public Comm {
 public:
  PythonComm(int rank, int size) : Comm(rank, size) {}

  void Barrier() override { PYBIND11_OVERRIDE_PURE_NAME(void, Comm, "barrier", Barrier); }

  std::shared_ptr<Comm> Duplicate() override {
    return InPython([this] { return CommOf(Override("duplicate")()); });
  }

 private:
  std::unique_ptr<Transfer> DoStart(const Exchange& exchange) override {
    return InPython([&] {
      return std::make_unique<PythonTransfer>(
          Override("start")(ReadableView(exchange.send), exchange.to, WritableView(exchange.recv), exchange.source));
    });
  }

  py::function Override(const char* name) const {
    py::function method = py::get_override(static_cast<const Comm*>(this), name);
    if (!method) Throw<ArgumentError>("a communicator in Python needs the method {}", name);
    return method;
  }
};

struct Buffer {
  py::buffer_info info;
  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(info.ptr), static_cast<std::size_t>(info.size * info.itemsize)};
  }
};

void SendRecv(Comm& comm, const py::buffer& send, int to, const py::buffer& recv, int source) {
  const Buffer sent{send.request()}, received{recv.request(true)};
  ReleaseGil([&] { comm.SendRecv({sent.bytes(), to, received.bytes(), source}); });
}

Array AllReduceArray(Comm& comm, const py::object& object, const py::object& dtype) {
  const Array array = ArrayOf(object, "all_reduce");
  const DType target = DTypeOf(dtype);
  NDArray result(target, array.array.shape());
  ReleaseGil([&] {
    dist::AllReduce(&comm, KernelType(array.array.dtype()), array.array.data(), KernelType(target), result.data(),
                    result.size());
  });
  return {std::move(result)};
}

void BroadcastArray(Comm& comm, const py::buffer& bytes, int root) {
  const Buffer buffer{bytes.request(true)};
  ReleaseGil([&] { dist::Broadcast(&comm, root, buffer.bytes()); });
}

// `with` blocks: entered and left by one thread.
class Group {
 public:
  explicit Group(std::shared_ptr<Comm> comm) : comm_(std::move(comm)) {}
  void Enter() { scope_.emplace(comm_); }
  void Exit() { scope_.reset(); }

 private:
  const std::shared_ptr<Comm> comm_;
  std::optional<dist::CommScope> scope_;
};

std::vector<std::shared_ptr<dist::LocalComm>> LocalComms(int size, double timeout) {
  return dist::MakeLocalComms(size, std::chrono::duration<double>(timeout));
}

}  // namespace

void BindComm(py::module_& module) {
  py::class_<Comm, PythonComm, std::shared_ptr<Comm>>(module, "Comm")
      .def(py::init<int, int>(), py::arg("rank"), py::arg("size"))
      .def_property_readonly("rank", &Comm::rank)
      .def_property_readonly("size", &Comm::size)
      .def_property_readonly("bytes_sent", &Comm::bytes_sent)
      .def("send_recv", &SendRecv, py::arg("send"), py::arg("to"), py::arg("recv"), py::arg("source"))
      .def("barrier", [](Comm& comm) { ReleaseGil([&] { comm.Barrier(); }); })
      .def("duplicate",
           [](Comm& comm) {
             std::shared_ptr<Comm> result;
             ReleaseGil([&] { result = comm.Duplicate(); });
             return result;
           })
      .def("all_reduce", &AllReduceArray, py::arg("array"), py::arg("dtype"))
      .def("broadcast", &BroadcastArray, py::arg("bytes"), py::arg("root"));
  py::class_<dist::LocalComm, Comm, std::shared_ptr<dist::LocalComm>>(module, "LocalComm")
      .def("fail", &dist::LocalComm::Fail, py::arg("reason"))
      .def("leave", &dist::LocalComm::Leave);
  py::class_<Group>(module, "CommGroup")
      .def(py::init([](const py::object& comm) { return std::make_unique<Group>(CommOf(comm)); }), py::arg("comm"))
      .def("enter", &Group::Enter)
      .def("exit", &Group::Exit);
  module.def("local_comms", &LocalComms, py::arg("size"), py::arg("timeout"));
  module.def("set_default_threads", &kernels::SetDefaultThreads, py::arg("count"));
}

}  // namespace amp::python
